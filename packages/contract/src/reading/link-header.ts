export type HeaderLink = { text: string; target: string; rels: string[]; type: string }

/** The links of a `Link` header (RFC 8288, section 3). */
export function readLinks(value: string): HeaderLink[] {
  return [...value.matchAll(/\s*<([^>]*)>((?:"(?:[^"\\]|\\.)*"|[^",])*)/g)].map(
    ([text, target = '', parameters = '']) => ({
      text: text.trim(),
      target,
      rels: parameter(parameters, 'rel').split(/\s+/),
      type: parameter(parameters, 'type').split(';', 1)[0]!.trim(),
    }),
  )
}

function parameter(parameters: string, name: string): string {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;"]+))`, 'i').exec(parameters)
  return (found?.[1] ?? found?.[2] ?? '').trim().toLowerCase()
}

export function headerLinks(headers: readonly (readonly [name: string, value: string])[]): HeaderLink[] {
  return headers.flatMap(([name, value]) => (name.toLowerCase() === 'link' ? readLinks(value) : []))
}
