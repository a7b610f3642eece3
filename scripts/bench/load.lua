-- A wrk script that sends the requests of a file in turn, with the API keys in turn.
--     wrk … -- FILE PATH RUN KEY…
-- A line of FILE is "named|unnamed<tab>BODY". A named request gets a fresh
-- Idempotency-Key: RUN, which must be unique, and a counter.
-- With SHOW_FAILURE set, prints the first answer that is not 200. That is slow: do not measure then.
local requests, keys, run, sent = {}, {}, nil, 0

function init(args)
  run = args[3]
  for i = 4, #args do keys[#keys + 1] = args[i] end
  for line in io.lines(args[1]) do
    local naming, body = line:match("^(%S+)\t(.*)$")
    local headers = { ["content-type"] = "application/json" }
    local first, rest = wrk.format("POST", args[2], headers, body):match("^(.-\r\n)(.*)$")
    requests[#requests + 1] = { first .. "x-api-key: ", rest, naming == "named" }
  end
end

function request()
  local i = sent % #requests
  -- Each pass over the requests gives every request another API key.
  local key = keys[(sent + math.floor(sent / #requests)) % #keys + 1]
  local first, rest, named = unpack(requests[i + 1])
  sent = sent + 1
  if not named then return first .. key .. "\r\n" .. rest end
  return first .. key .. '\r\nidempotency-key: "' .. run .. "-" .. sent .. '"\r\n' .. rest
end

if os.getenv("SHOW_FAILURE") then
  local shown = false
  function response(status, headers, body)
    if status == 200 or shown then return end
    shown = true
    io.write(string.format("\n%d %s\n", status, body))
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"refused":%d,"lost":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f}\n',
    summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
