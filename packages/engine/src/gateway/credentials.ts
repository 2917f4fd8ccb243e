import { randomBytes, timingSafeEqual } from 'node:crypto'

const USERNAME = 'browser'

/** What one browser context must show to the gateway (RFC 7617). Only the node and the browser's network process know it. */
export class ProxyCredentials {
  readonly username = USERNAME
  readonly password = randomBytes(32).toString('base64url')
  readonly #expected = Buffer.from(`Basic ${Buffer.from(`${USERNAME}:${this.password}`).toString('base64')}`)

  /** Returns whether the value of `Proxy-Authorization` is right. */
  areIn(authorization: string | undefined): boolean {
    const given = Buffer.from(authorization ?? '')
    return given.length === this.#expected.length && timingSafeEqual(given, this.#expected)
  }
}
