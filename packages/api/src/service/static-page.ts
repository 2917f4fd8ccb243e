import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

/** The style sheet, and a policy that allows only it, by hash. */
export function pageStyle(): { style: string; policy: string } {
  const style = readFileSync(path.join(import.meta.dirname, 'static-page.css'), 'utf8')
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    style,
    policy: `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

/** `title` is text, `body` HTML. `next`: the path of a page that follows at once. */
export function htmlPage(
  title: string,
  style: string,
  body: string,
  { next }: { next?: string } = {},
): string {
  const refresh =
    next === undefined ? '' : `\n<meta http-equiv="refresh" content="0;url=${escapeHtml(next)}">`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>${refresh}
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
