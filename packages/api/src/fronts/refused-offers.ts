import type { IncomingMessage } from 'node:http'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type PageUrl, parsePageUrl } from '@prepaint/contract/page/path.ts'
import type { FrontRefusal } from '@prepaint/runtime/http/front-form.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { type FrontRefusals, noteRefusal } from './middleware-form.ts'

/** A URL, a user agent and `Accept` need less. Longer bodies are not read. */
const BODY_LIMIT_BYTES = 32_768

/**
 * Notes requests of the offer form that are refused for a key of the account. Their key is checked before their body is
 * read, but only the body names the domain, whose owner should see why its front gets no pages.
 */
export class RefusedOffers {
  readonly #evidence: FrontRefusals
  readonly #log: Log

  constructor(evidence: FrontRefusals, log: Log) {
    this.#evidence = evidence
    this.#log = log
  }

  /** Reads the body of the request. Never rejects: the request is refused anyway. */
  async note(
    request: IncomingMessage,
    account: AccountId | null,
    refusal: FrontRefusal,
    isIncident: (url: PageUrl) => Promise<boolean> = async () => true,
  ): Promise<void> {
    if (account === null) return
    let body: string
    try {
      body = await readBody(request)
    } catch {
      // The client has left: that is no fault of this node.
      return
    }
    try {
      const url = pageAskedFor(body)
      if (url !== null) await noteRefusal(this.#evidence, account, url, refusal, await isIncident(url))
    } catch (error) {
      this.#log.warn({ err: error }, 'the refusal of a front could not be noted')
    }
  }
}

function pageAskedFor(body: string): PageUrl | null {
  let asked: unknown
  try {
    asked = JSON.parse(body)
  } catch {
    return null
  }
  if (typeof asked !== 'object' || asked === null || !('url' in asked)) return null
  return typeof asked.url === 'string' ? parsePageUrl(asked.url) : null
}

/** Returns an empty text for a body that is too long, or whose length is not known. Rejects if the client leaves. */
async function readBody(request: IncomingMessage): Promise<string> {
  const length = Number(request.headers['content-length'] ?? Number.NaN)
  if (!(length <= BODY_LIMIT_BYTES)) return ''
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}
