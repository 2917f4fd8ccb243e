import type { ApiApp } from '../http/app.ts'
import { escapeHtml, htmlPage, pageStyle } from './static-page.ts'

/** The page linked in the User-Agent of renders. */
export function bot(app: ApiApp, about: { version: string; contact: string | null }): void {
  const { style, policy } = pageStyle()
  const page = botPage(about, style)

  app.route({
    method: 'GET',
    url: '/bot',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (_request, reply) =>
      reply.type('text/html; charset=utf-8').header('Content-Security-Policy', policy).send(page),
  })
}

/** The page for people who found Prepaint in their logs. It has no scripts and no external content. */
export function botPage(about: { version: string; contact: string | null }, style: string): string {
  const main = `<main>
<h1>Why Prepaint requests your pages</h1>
<p class="soft">You came here from <code>Prepaint/${escapeHtml(about.version)}</code> in a user agent.</p>

<h2>What it is</h2>
<p>Prepaint renders web pages that need scripts, and serves the finished HTML to search engines, AI crawlers
and link previews. It works for site owners: a site is rendered after its owner, or an agency for the owner,
registered it here and pointed its name at this service. People who visit the site get the site itself.</p>
<p>It is a browser, not a crawler: it does not follow links. It opens a page when a crawler requests it, when
a stored copy is outdated, or when the owner refreshes it. When the owner has all pages rendered in advance, it reads
<code>/robots.txt</code> and the sitemaps first, and skips pages that <code>robots.txt</code> does not allow for <code>Prepaint</code>. Sometimes it opens an address that cannot
exist, <code>/prepaint-probe-&hellip;</code>, to learn how the site responds to missing pages.</p>

<h2>Contact</h2>
<p>${contactWords(about.contact)}</p>

<h2>How to recognise it</h2>
<ul>
<li>The user agent is that of Chromium, followed by <code>Prepaint/${escapeHtml(about.version)}</code>. Owners can
set another one for their site.</li>
<li>Every request for the site itself carries <code>Via: 1.1 prepaint</code>.</li>
<li>Responses to crawlers have the header <code>X-Prepaint</code>: <code>hit</code>, <code>stale</code> and
<code>rendered</code> came from Prepaint; <code>pass; &lt;why&gt;</code> came from the site.</li>
<li>Owners see every render with its requests and errors at <code>GET /api/domains/&lt;domain&gt;/renders</code>, see
<a href="docs">the documentation</a>.</li>
</ul>

<h2>How to exclude pages</h2>
<p>Owners can pass paths to their site without rendering: <code>{"rules": [{"path": "/account/*", "action":
"pass"}]}</code> in the settings of the domain.</p>

<h2>How to stop it</h2>
<ul>
<li><b>Your own site</b>: set <code>is_active</code> to <code>false</code>, delete the domain, or point its name back at your
server. Rendering stops at once.</li>
<li><b>A server that other sites use</b> (an API, fonts, a script): their pages request it, as they do for any
visitor. Refuse requests with <code>Prepaint/</code> in the user agent; the pages are then rendered without your content.</li>
<li><b>A site that is rendered without its owner's knowledge</b>: tell ${
    about.contact === null ? 'the operator of this service' : 'us'
  }. This is a mistake or abuse.</li>
</ul>
</main>`
  return htmlPage('Prepaint: why it requests your pages', style, main)
}

function contactWords(contact: string | null): string {
  const operator =
    'Prepaint is software with many operators. The operator of this service requested your pages.'
  if (contact === null) {
    return `${operator} There is no contact address: ask the owner of the domain of this page.`
  }
  const href = contact.includes('://') ? contact : `mailto:${contact}`
  return `${operator} Contact: <a href="${escapeHtml(href)}">${escapeHtml(contact)}</a>.`
}
