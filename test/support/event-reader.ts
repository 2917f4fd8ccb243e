import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

export type TestEvent = { id: string; event: string; data: Record<string, unknown> }

export type TestReader = {
  status: number
  headers: Headers
  /** Skips other events. Rejects when the stream ends, or after 30 s. */
  next(event: string): Promise<TestEvent>
  rest(): Promise<TestEvent[]>
  close(): void
}

const WITHIN_MS = 30_000

export async function openStream(url: string, headers: Record<string, string>): Promise<TestReader> {
  const abort = new AbortController()
  const response = await fetch(url, { headers, signal: abort.signal })
  const frames = read(response)
  return {
    status: response.status,
    headers: response.headers,
    async next(event) {
      for (;;) {
        const { value, done } = await inTime(`an event "${event}"`, frames.next())
        assert(done !== true, `the stream ended before an event "${event}"`)
        if (value.event === event) return value
      }
    },
    async rest() {
      const found: TestEvent[] = []
      for (;;) {
        const { value, done } = await inTime('the end of the stream', frames.next())
        if (done === true) return found
        found.push(value)
      }
    },
    close: () => abort.abort(),
  }
}

async function inTime<T>(what: string, coming: Promise<T>): Promise<T> {
  const waiting = new AbortController()
  const late = sleep(WITHIN_MS, undefined, { signal: waiting.signal }).then(() =>
    assert.fail(`not within ${WITHIN_MS} ms: ${what}`),
  )
  try {
    return await Promise.race([coming, late])
  } finally {
    waiting.abort()
  }
}

async function* read(response: Response): AsyncGenerator<TestEvent, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of response.body ?? []) {
    text += decoder.decode(part as Uint8Array, { stream: true })
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end < 0) break
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const),
      )
      text = text.slice(end + 2)
      const event = fields.get('event')
      if (event === undefined) continue
      yield {
        id: fields.get('id') ?? '',
        event,
        data: JSON.parse(fields.get('data') ?? '{}') as Record<string, unknown>,
      }
    }
  }
}
