/**
 * Whether an origin's answer may not be kept by a cache that serves everybody
 * (RFC 9111, section 3): `no-store`, or `private` for the whole of it. What
 * else `Cache-Control` says is about how long, which the domain's own settings say.
 */
export function forbidsStoring(headers: readonly (readonly [name: string, value: string])[]): boolean {
  return headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'cache-control' && directives(value).some((one) => FORBIDS.has(one)),
  )
}

const FORBIDS = new Set(['no-store', 'private'])

/** Lower case, with their arguments: `private="set-cookie"` is about that field alone. */
function directives(value: string): string[] {
  // A comma in quotes divides nothing; quotes without an end go to the end, so that the time is linear.
  return (value.match(/(?:"(?:\\.|[^"\\])*"?|[^,"])+/g) ?? []).map((one) => one.trim().toLowerCase())
}
