/** Which paths are routes of ours, and by which methods. */
export class KnownRoutes {
  readonly #methods = new Map<string, Set<string>>()
  readonly #patterns: { matches: RegExp; url: string }[] = []

  add(url: string, methods: readonly string[]): void {
    let known = this.#methods.get(url)
    if (known === undefined) {
      known = new Set(['OPTIONS'])
      this.#methods.set(url, known)
      const pattern = url.replaceAll('.', '\\.').replace(/:[a-z]+/gi, '[^/]+')
      this.#patterns.push({ matches: new RegExp(`^${pattern}$`), url })
    }
    for (const method of methods) known.add(method)
  }

  /** Returns the methods as in `Allow`, or null if the path is no route. `url` may have a query. */
  methodsOf(url: string): string | null {
    const path = url.split('?', 1)[0] ?? ''
    const pattern = this.#patterns.find(({ matches }) => matches.test(path))
    return pattern === undefined ? null : [...this.#methods.get(pattern.url)!].sort().join(', ')
  }
}
