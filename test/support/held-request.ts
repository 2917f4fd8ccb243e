import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'

type HeldRequest = {
  method: string
  url: string
  headers: Record<string, string>
  content: string | Uint8Array
}

/** Sends the head, then runs `meanwhile`, which waits until the access was checked, then sends the body. */
export async function heldRequest(
  { method, url, headers, content }: HeldRequest,
  meanwhile: () => Promise<unknown>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const length = Buffer.byteLength(content)
  const request = http.request(url, {
    method,
    headers: { 'content-type': 'application/json', 'content-length': length, ...headers },
    agent: false,
  })
  request.flushHeaders()
  await meanwhile()
  request.end(content)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const answer = await text(response)
  return { status: response.statusCode!, body: answer === '' ? {} : JSON.parse(answer) }
}
