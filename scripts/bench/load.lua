-- Sends the requests of a file in turn; a line is "METHOD<tab>PATH<tab>KEY<tab>BODY".
local requests, next = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    local method, path, key, body = line:match("^(%S+)\t(%S+)\t(%S+)\t(.*)$")
    local headers = { ["x-api-key"] = key }
    if body ~= "" then headers["content-type"] = "application/json" else body = nil end
    requests[#requests + 1] = wrk.format(method, path, headers, body)
  end
end

function request()
  next = next % #requests + 1
  return requests[next]
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"requests":%d,"failed":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f}\n',
    summary.requests, failed, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
