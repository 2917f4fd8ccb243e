type Pairs = readonly (readonly [name: string, value: string])[]

type HeaderLink = { text: string; target: string; rels: string[]; type: string }

/** The links of `Link` headers, one each (RFC 8288, section 3). */
export function headerLinks(headers: Pairs): HeaderLink[] {
  const values = headers.filter(([name]) => name.toLowerCase() === 'link').map(([, value]) => value)
  return values.flatMap((value) =>
    [...value.matchAll(/\s*<([^>]*)>((?:"(?:[^"\\]|\\.)*"|[^",])*)/g)].map(
      ([text, target = '', parameters = '']) => ({
        text: text.trim(),
        target,
        rels: parameter(parameters, 'rel').split(/\s+/),
        type: parameter(parameters, 'type').split(';', 1)[0]!.trim(),
      }),
    ),
  )
}

function parameter(parameters: string, name: string): string {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;"]+))`, 'i').exec(parameters)
  return (found?.[1] ?? found?.[2] ?? '').trim().toLowerCase()
}

export function namesMarkdown({ rels, type }: HeaderLink): boolean {
  return rels.includes('alternate') && type === 'text/markdown'
}
