/** `at`: the place in the header, from 0. Parameters other than `q` are not kept. */
export type Accepted = { weight: number; at: number }

/**
 * Parses `Accept`, `Accept-Encoding` and other lists with weights (RFC 9110, section 12.4.2). Names are in lower case. A
 * member without `q` has weight 1. A member with a malformed weight is ignored, as if the client had not sent it. If a
 * name is listed more than once, its highest weight counts.
 */
export function parseAccept(header: string): Map<string, Accepted> {
  const accepted = new Map<string, Accepted>()
  for (const [at, member] of splitOutsideQuotes(header, ',').entries()) {
    const [first = '', ...parameters] = splitOutsideQuotes(member, ';')
    const name = first.trim().toLowerCase()
    const weight = weightOf(parameters)
    if (name === '' || weight === null) continue
    const before = accepted.get(name)
    if (before === undefined || weight > before.weight) accepted.set(name, { weight, at })
  }
  return accepted
}

/**
 * Returns the weight of a media type, 0 if it is not acceptable (RFC 9110, section 12.5.1). Its name precedes the range of
 * its group, such as `text/*`, and that precedes the range of all types.
 */
export function mediaTypeWeight(accepted: ReadonlyMap<string, Accepted>, type: string): number {
  const group = `${type.slice(0, type.indexOf('/'))}/*`
  const found = accepted.get(type) ?? accepted.get(group) ?? accepted.get('*/*')
  return found?.weight ?? 0
}

/** Returns 1 if there is no `q`, and null if it is malformed. */
function weightOf(parameters: readonly string[]): number | null {
  for (const parameter of parameters) {
    const [, equals, value] = Q.exec(parameter.trim()) ?? []
    if (equals === undefined) continue
    return equals === '=' && QVALUE.test(value!) ? Number(value) : null
  }
  return 1
}

/** The second group is `=` if the parameter is well-formed: no space is allowed before it. */
const Q = /^q(\s*=|$)(.*)/is
const QVALUE = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** Separators inside of quoted strings separate nothing (RFC 9110, section 5.6.4). */
function splitOutsideQuotes(text: string, separator: string): string[] {
  // Nearly all headers end here.
  if (!text.includes('"')) return text.split(separator)
  const parts: string[] = []
  let start = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isQuoted && character === '\\') at++
    else if (character === '"') isQuoted = !isQuoted
    else if (!isQuoted && character === separator) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}
