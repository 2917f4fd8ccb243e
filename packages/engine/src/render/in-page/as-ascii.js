// Text crosses two Chromium processes, which takes three times as long if it is not all ASCII.
/** @param {string} text @returns {{ form: 'plain' | 'escaped' | 'base64', text: string }} */
// biome-ignore lint/correctness/noUnusedVariables: packages/engine/src/render/visit/snapshot.ts calls it
function asAscii(text) {
  const bytes = new TextEncoder().encode(text)
  const foreignBytes = bytes.length - text.length
  if (foreignBytes === 0) return { form: 'plain', text }

  const MARK = '\x7f'
  if (foreignBytes * 20 < text.length && !text.includes(MARK)) {
    const escaped = text.replace(/[^\0-\x7f]/g, (char) => {
      return MARK + char.charCodeAt(0).toString(16).padStart(4, '0')
    })
    return { form: 'escaped', text: escaped }
  }
  // Since Chromium 140.
  const toBase64 = Reflect.get(Uint8Array.prototype, 'toBase64')
  return toBase64 === undefined ? { form: 'plain', text } : { form: 'base64', text: toBase64.call(bytes) }
}
