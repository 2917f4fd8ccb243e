import { callerHeaders } from '../api/request.ts'
import type { EventStream } from './stream.ts'

type Take = (event: { data?: unknown }) => void

/** An event stream with headers, which `EventSource` cannot send: the token of a share link never stands in an address. */
export class FetchedEvents implements EventStream {
  readonly #takes = new Map<string, Take>()
  readonly #closing = new AbortController()

  constructor(url: string) {
    void this.#read(url)
  }

  addEventListener(name: string, take: Take): void {
    this.#takes.set(name, take)
  }

  close(): void {
    this.#closing.abort()
  }

  async #read(url: string): Promise<void> {
    try {
      const response = await fetch(url, { headers: callerHeaders(), signal: this.#closing.signal })
      if (response.ok && response.body !== null) await this.#takeAll(response.body)
    } catch {
      // Told as every end.
    }
    if (!this.#closing.signal.aborted) this.#takes.get('error')?.({})
  }

  async #takeAll(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const frames = (text + part.value).split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) this.#take(frame)
    }
  }

  #take(frame: string): void {
    const fields = new Map<string, string>()
    for (const line of frame.split('\n')) {
      const at = line.indexOf(': ')
      if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2))
    }
    const name = fields.get('event')
    if (name !== undefined) this.#takes.get(name)?.({ data: fields.get('data') })
  }
}
