/** Collects a request body that is still arriving. Bounds the memory that such bodies take. */
import * as Effect from "effect/Effect"
import type { AccountId } from "../Account.ts"
import {
  type InvalidRequest,
  PayloadTooLarge,
  payloadTooLargeMessage,
  ServiceUnavailable,
  TooManyRequests,
} from "../contract/Envelope.ts"
import { maxBodyBytes } from "../contract/Limits.ts"
import { inTurn } from "./inTurn.ts"
import { JsonParts } from "./JsonParts.ts"
import type { Request } from "./Request.ts"

export type Refusal = InvalidRequest | PayloadTooLarge | TooManyRequests | ServiceUnavailable

// Maximum memory for the arriving bodies of one account, in bytes.
const maxOfAccount = 8 * 1024 * 1024

// Maximum memory for all arriving bodies, in bytes.
const maxOfAll = 128 * 1024 * 1024

const ofAccounts = new Map<AccountId, number>()
let ofAll = 0

const count = (account: AccountId, bytes: number) => {
  const sum = (ofAccounts.get(account) ?? 0) + bytes
  if (sum === 0) ofAccounts.delete(account)
  else ofAccounts.set(account, sum)
  ofAll += bytes
}

const refusalOf = (account: AccountId, more: number): Refusal | undefined => {
  if ((ofAccounts.get(account) ?? 0) + more > maxOfAccount) return accountIsFull
  return ofAll + more > maxOfAll ? serviceIsFull : undefined
}

export const tooLarge = new PayloadTooLarge({ message: payloadTooLargeMessage })

const accountIsFull = new TooManyRequests({
  message:
    "Too many of your request bodies are still arriving. Send fewer at a time, and each without a pause.",
})

const serviceIsFull = new ServiceUnavailable({
  message: "Too many request bodies are still arriving, and nothing is charged; try again later.",
})

/**
 * Bodies above this size, in bytes, share a few buffers of `maxBodyBytes`, one after the other. If
 * each of many large bodies got new memory, V8 would collect garbage several times per second.
 */
const largeBytes = 128 * 1024
const largeBuffers: Array<Buffer> = []
const maxLargeBuffers = 8

const sizeFor = (needed: number) => (needed > largeBytes ? maxBodyBytes : needed)

const allocate = (size: number): Buffer =>
  size === maxBodyBytes
    ? (largeBuffers.pop() ?? Buffer.allocUnsafeSlow(size))
    : Buffer.allocUnsafeSlow(size)

const giveBack = (buffer: Buffer) => {
  const isLarge = buffer.length === maxBodyBytes
  if (isLarge && largeBuffers.length < maxLargeBuffers) largeBuffers.push(buffer)
}

/**
 * Waits for the whole body and decodes it. Its `content-length` is reserved at once. A body with too
 * many fields and items is refused as soon as they have arrived. A client that hangs up interrupts
 * the fiber. `decode` must not keep the bytes, because other bodies get their buffer later. The bytes
 * are copied, because a chunk of one byte can keep the buffer of the socket alive.
 */
export const collect = <A, E>(
  request: Request,
  account: AccountId,
  decode: (bytes: Buffer) => Effect.Effect<A, E>,
): Effect.Effect<A, E | Refusal> =>
  Effect.async((resume) => {
    // The client hung up before, so no event would follow.
    if (request.destroyed) return resume(Effect.interrupt)
    let bytes: Buffer = Buffer.alloc(0)
    let length = 0
    const parts = new JsonParts()
    const growTo = (size: number): Refusal | undefined => {
      const more = size - bytes.length
      const refusal = refusalOf(account, more)
      if (refusal === undefined) {
        const larger = allocate(size)
        bytes.copy(larger, 0, 0, length)
        bytes = larger
        count(account, more)
      }
      return refusal
    }
    const makeRoomFor = (needed: number): Refusal | undefined => {
      if (needed > maxBodyBytes) return tooLarge
      return needed > bytes.length ? growTo(sizeFor(2 * needed)) : undefined
    }
    // Refusals and chunks take turns, so that other requests do not wait for many of them.
    const refuse = (refusal: Refusal) => {
      giveBack(stop())
      request.waitForTurn()
      inTurn(() => resume(Effect.fail(refusal)))
    }
    const onData = (chunk: Buffer) => {
      const refusal = makeRoomFor(length + chunk.length) ?? parts.add(chunk)
      if (refusal !== undefined) return refuse(refusal)
      length += chunk.copy(bytes, length)
      request.readInTurn()
    }
    const onEnd = () => {
      const buffer = stop()
      const decoded = Effect.suspend(() => decode(buffer.subarray(0, length)))
      resume(
        Effect.ensuring(
          decoded,
          Effect.sync(() => giveBack(buffer)),
        ),
      )
    }
    // The client hung up, so no answer is needed.
    const onError = () => {
      giveBack(stop())
      resume(Effect.interrupt)
    }
    const stop = () => {
      request.off("data", onData).off("end", onEnd).off("error", onError)
      count(account, -bytes.length)
      const buffer = bytes
      bytes = Buffer.alloc(0)
      return buffer
    }
    const refusal = growTo(sizeFor(Number(request.headers["content-length"] ?? 0)))
    if (refusal !== undefined) return refuse(refusal)
    request.on("data", onData).on("end", onEnd).on("error", onError)
    return Effect.sync(() => giveBack(stop()))
  })
