import assert from 'node:assert/strict'
import { Readable } from 'node:stream'

type TestEvent = { id: string; event: string; data: Record<string, unknown> }

export type TestReader = Awaited<ReturnType<typeof openStream>>

const WITHIN_MS = 30_000

export async function openStream(url: string, headers: Record<string, string>) {
  const abort = new AbortController()
  const response = await fetch(url, { headers, signal: abort.signal })
  const frames = read(response)
  return {
    status: response.status,
    headers: response.headers,
    /** Skips other events. Rejects when the stream ends, or after 30 s. */
    async next(event: string): Promise<TestEvent> {
      for (;;) {
        const { value, done } = await inTime(`an event "${event}"`, frames.next())
        assert(done !== true, `the stream ended before an event "${event}"`)
        if (value.event === event) return value
      }
    },
    rest: (): Promise<TestEvent[]> => inTime('the end of the stream', Readable.from(frames).toArray()),
    close: () => abort.abort(),
  }
}

async function inTime<T>(what: string, coming: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not within ${WITHIN_MS} ms: ${what}`)), WITHIN_MS)
  return Promise.race([coming, late]).finally(() => clearTimeout(timer))
}

async function* read(response: Response): AsyncGenerator<TestEvent, undefined> {
  let text = ''
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    const frames = text.split('\n\n')
    text = frames.pop()!
    for (const frame of frames) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
      const event = field('event')
      if (event === undefined) continue
      yield { id: field('id') ?? '', event, data: JSON.parse(field('data') ?? '{}') }
    }
  }
}
