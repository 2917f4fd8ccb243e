import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { ApiApp } from '../http/app.ts'
import { pagePolicy } from '../pages/source.ts'
import { escapeHtml } from './docs-page.ts'

const STYLE_FILE = path.join(import.meta.dirname, 'docs-page.css')

/** The page that the user agent of renders points at. */
export function bot(app: ApiApp, about: { version: string; contact: string | null }): void {
  const style = readFileSync(STYLE_FILE, 'utf8')
  const page = botPage(about, style)
  const policy = pagePolicy(style)

  app.route({
    method: 'GET',
    url: '/bot',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('Content-Security-Policy', policy).send(page),
  })
}

/**
 * For people who found us in their logs: what asked for their pages, whom to
 * ask, and how to see, pass and stop it. No script, nothing from elsewhere.
 */
export function botPage(about: { version: string; contact: string | null }, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Prepaint: who asks for your pages</title>
<style>${style}</style>
</head>
<body>
<h1>Who asks for your pages</h1>
<p class="soft">You were led here by <code>Prepaint/${escapeHtml(about.version)}</code> in a user agent.</p>

<h2>What it is</h2>
<p>Prepaint renders web pages that are made by scripts, and gives the finished HTML to search engines, AI crawlers
and link previews. It works for owners of sites: a site is rendered when its owner, or whoever runs it for them, has
registered it here and pointed its name at this service. People who visit such a site are not rendered for; they get
the site itself.</p>
<p>It is a browser, not a crawler. It follows no links. It opens a page when a crawler has just asked for it, when
a stored copy grows old, or when the owner has it refreshed. When the owner has all his pages rendered ahead, it reads
<code>/robots.txt</code> and the sitemaps first, and opens nothing that <code>robots.txt</code> does not allow to <code>Prepaint</code>. Once in a while it also opens an address that cannot
exist, <code>/prepaint-probe-&hellip;</code>, to learn how the site says that a page is not there.</p>

<h2>Whom to ask</h2>
<p>${contactWords(about.contact)}</p>

<h2>How to see it</h2>
<ul>
<li>The user agent is that of Chromium with <code>Prepaint/${escapeHtml(about.version)}</code> at its end. An owner can
choose another one for his site.</li>
<li>Every request for the site itself carries <code>Via: 1.1 prepaint</code>.</li>
<li>What a crawler got says so in the header <code>X-Prepaint</code>: <code>hit</code>, <code>stale</code> and
<code>rendered</code> came from here; <code>pass; &lt;why&gt;</code> came from the site.</li>
<li>Owners find every render with its requests and errors at <code>GET /api/domains/&lt;domain&gt;/renders</code>, see
<a href="docs">the documentation</a>.</li>
</ul>

<h2>How to have pages passed</h2>
<p>The owner of a site can have paths handed on to it untouched: <code>{"rules": [{"path": "/account/*", "action":
"pass"}]}</code> in the settings of the domain.</p>

<h2>How to stop it</h2>
<ul>
<li><b>Your own site</b>: set <code>is_active</code> to <code>false</code>, delete the domain, or point its name back at your
server. Renders end at once.</li>
<li><b>A server that pages of others use</b> (an API, fonts, a script): it is asked because such a page asks for it, as it
would be by any visitor. Refuse requests with <code>Prepaint/</code> in the user agent; the page is then rendered without
what you refuse.</li>
<li><b>A site that is rendered although its owner knows nothing of it</b>: tell ${
    about.contact === null ? 'whoever runs this service' : 'us'
  }. It is a mistake or abuse.</li>
</ul>
</body>
</html>
`
}

function contactWords(contact: string | null): string {
  const operator = 'Prepaint is software that many run; it is this service that asked for your pages.'
  if (contact === null) {
    return `${operator} Whoever runs it has named nobody here: ask the owner of the address that this page stands at.`
  }
  const href = contact.includes('://') ? contact : `mailto:${contact}`
  return `${operator} Whoever runs it answers here: <a href="${escapeHtml(href)}">${escapeHtml(contact)}</a>.`
}
