export type Letter = { subject: string; text: string; html: string }

type Link = { url: string; label: string }

export type Block = { heading?: string; tone?: 'bad' | 'good'; lines?: readonly string[]; link?: Link }

const BUTTON =
  'background:#0f6d5e;border-radius:6px;color:#fff;display:inline-block;padding:9px 16px;text-decoration:none'
const COLOURS = { bad: '#b3261e', good: '#0f6d5e' }

/** Writes a letter as text and as HTML, without pictures or anything remote. The foot is small; as text it does not repeat links. */
export function compose(
  subject: string,
  blocks: readonly Block[],
  foot: readonly { text: string; link?: Link }[],
): Letter {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(subject)}</title></head>
<body style="font:16px/1.5 sans-serif;color:#17211f;background:#fff;max-width:36em;margin:2em auto;padding:0 1em;overflow-wrap:anywhere">
${blocks.map(blockHtml).join('\n')}
<div style="font-size:13px;color:#56625f;border-top:1px solid #d5dcda;margin-top:28px">
${foot.map(({ text: words, link }) => `<p>${escaped(words)} ${link ? anchor(link, 'color:#56625f') : ''}</p>`).join('\n')}
</div>
</body></html>
`
  return { subject, text: asText(blocks, foot), html }
}

function asText(blocks: readonly Block[], foot: readonly { text: string; link?: Link }[]): string {
  const shown = new Set(blocks.map(({ link }) => link?.url))
  const text: string[] = []
  for (const { heading, lines = [], link } of blocks) {
    if (heading !== undefined) text.push(heading, '')
    text.push(...lines)
    if (link !== undefined) text.push('', link.url)
    text.push('')
  }
  text.push('--')
  for (const { text: words, link } of foot) {
    if (link === undefined) text.push(words)
    else if (!shown.has(link.url)) text.push(`${words} ${link.url}`)
  }
  text.push('')
  return text.join('\n')
}

function blockHtml({ heading, tone, lines = [], link }: Block): string {
  const colour = tone === undefined ? '' : `;color:${COLOURS[tone]}`
  const title =
    heading === undefined
      ? ''
      : `<h2 style="font-size:18px;margin:24px 0 8px${colour}">${escaped(heading)}</h2>\n`
  const paragraphs = lines.map((line) => `<p style="margin:6px 0">${escaped(line)}</p>`).join('\n')
  return `${title}${paragraphs}${link === undefined ? '' : `\n<p style="margin:14px 0">${anchor(link, BUTTON)}</p>`}`
}

function anchor({ url, label }: Link, style: string): string {
  return `<a href="${escaped(url)}" style="${style}">${escaped(label)}</a>`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
