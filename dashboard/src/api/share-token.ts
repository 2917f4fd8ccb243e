/** The token of the share link that this tab was opened with, which takes the place of a session. It stays in the fragment. */
class ShareToken {
  #token: string | null = null

  get(): string | null {
    return this.#token
  }

  set(token: string): void {
    this.#token = token
  }
}

export const shareToken = new ShareToken()
