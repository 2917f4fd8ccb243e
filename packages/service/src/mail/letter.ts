import { brandShades } from '@prepaint/contract/brand-colour.ts'

export type Letter = { subject: string; text: string; html: string }

type Link = { url: string; label: string }

/** Each row has as many cells as the head. As text, a row is a line with the names of its cells. */
type Table = { head: readonly string[]; rows: readonly (readonly string[])[] }

export type Block = {
  heading?: string
  tone?: 'bad' | 'good'
  lines?: readonly string[]
  table?: Table
  link?: Link | undefined
}

type Foot = { text: string; link?: Link }

/** How the account of a letter looks: its name, as text, and its colour. */
export type Brand = { name: string; colour: string | null; showPrepaint: boolean }

const OWN_COLOUR = '#0f6d5e'
const buttonOf = (colour: string) =>
  `background:${colour};border-radius:6px;color:#fff;display:inline-block;padding:9px 16px;text-decoration:none`
const COLOURS = { bad: '#b3261e', good: '#0f6d5e' }

/**
 * Writes a letter as text and as HTML, without pictures or anything remote. The foot is small; as text it does not repeat links.
 * `brand`: of the account that it is about, if it has chosen one.
 */
export function compose(
  subject: string,
  blocks: readonly Block[],
  foot: readonly Foot[],
  brand: Brand | null = null,
): Letter {
  const colour = brand?.colour ?? null
  const button = buttonOf(colour === null ? OWN_COLOUR : brandShades(colour).light.fill)
  const lines = brand === null ? foot : [...foot, ...madeWith(brand)]
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(subject)}</title></head>
<body style="font:16px/1.5 sans-serif;color:#17211f;background:#fff;max-width:36em;margin:2em auto;padding:0 1em;overflow-wrap:anywhere">
${brand === null ? '' : headHtml(brand)}${blocks.map((block) => blockHtml(block, button)).join('\n')}
<div style="font-size:13px;color:#56625f;border-top:1px solid #d5dcda;margin-top:28px">
${lines.map(({ text: words, link }) => `<p>${escaped(words)} ${link ? anchor(link, 'color:#56625f') : ''}</p>`).join('\n')}
</div>
</body></html>
`
  return { subject, text: asText(blocks, lines, brand), html }
}

function madeWith({ showPrepaint }: Brand): Foot[] {
  return showPrepaint ? [{ text: 'Sent with Prepaint.' }] : []
}

/** The name as text on a bar of the colour, which dark schemes of mail programs keep. */
function headHtml({ name, colour }: Brand): string {
  const bar = colour ?? OWN_COLOUR
  return `<p style="border-top:4px solid ${bar};font-size:18px;font-weight:600;margin:0 0 20px;padding-top:12px">${escaped(name)}</p>
`
}

function asText(blocks: readonly Block[], foot: readonly Foot[], brand: Brand | null): string {
  const shown = new Set(blocks.map(({ link }) => link?.url))
  const text: string[] = brand === null ? [] : [brand.name, '']
  for (const { heading, lines = [], table, link } of blocks) {
    if (heading !== undefined) text.push(heading, '')
    text.push(...lines)
    if (table !== undefined) text.push('', ...tableText(table))
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

function tableText({ head, rows }: Table): string[] {
  return rows.map(([first = '', ...cells]) => {
    const named = cells.map((cell, at) => `${head[at + 1]!.toLowerCase()} ${cell}`)
    return `– ${first}: ${named.join(', ')}`
  })
}

function blockHtml({ heading, tone, lines = [], table, link }: Block, button: string): string {
  const colour = tone === undefined ? '' : `;color:${COLOURS[tone]}`
  const title =
    heading === undefined
      ? ''
      : `<h2 style="font-size:18px;margin:24px 0 8px${colour}">${escaped(heading)}</h2>\n`
  const paragraphs = lines.map((line) => `<p style="margin:6px 0">${escaped(line)}</p>`).join('\n')
  const figures = table === undefined ? '' : `\n${tableHtml(table)}`
  const way = link === undefined ? '' : `\n<p style="margin:14px 0">${anchor(link, button)}</p>`
  return `${title}${paragraphs}${figures}${way}`
}

function tableHtml({ head, rows }: Table): string {
  const cells = (row: readonly string[], tag: 'th' | 'td') =>
    row
      .map((cell, at) => {
        const align = at === 0 ? 'left' : 'right'
        return `<${tag} style="border-bottom:1px solid #d5dcda;font-weight:${tag === 'th' ? 600 : 400};padding:6px 8px;text-align:${align}">${escaped(cell)}</${tag}>`
      })
      .join('')
  const lines = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
  return `<table style="border-collapse:collapse;font-size:14px;margin:14px 0;width:100%"><tr>${cells(head, 'th')}</tr>
${lines}</table>`
}

function anchor({ url, label }: Link, style: string): string {
  return `<a href="${escaped(url)}" style="${style}">${escaped(label)}</a>`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
