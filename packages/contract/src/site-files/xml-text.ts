const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

/** Decodes the five XML entities and numeric references. Returns null for another entity, or an invalid number. */
export function unescapeXml(text: string): string | null {
  let isKnown = true
  const plain = text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (_whole, hex, decimal, name) => {
    const character = name === undefined ? characterOf(hex, decimal) : ENTITIES.get(name)
    if (character === undefined) isKnown = false
    return character ?? ''
  })
  return isKnown ? plain : null
}

function characterOf(hex: string | undefined, decimal: string): string | undefined {
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;')
}
