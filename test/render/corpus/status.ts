import { brotliCompressSync, gzipSync } from 'node:zlib'

import { scripted } from '../../support/renderer.ts'
import { cutOff, html, never, status as only, page, script, type Theme } from '../corpus-page.ts'

/** What the origin, the page and its metas say of themselves. */
export const status: Theme = {
  name: 'status',
  pages: [
    {
      name: 'a page that is not found',
      why: 'Its scripts run and it looks like any other; the status is all that tells.',
      routes: { '': html(scripted(`show('nothing here')`), { status: 404 }) },
      expect: { status: 404, reads: ['nothing here'] },
    },
    {
      name: 'a page that is gone, and one that is forbidden',
      why: 'The body is kept with its status.',
      routes: {
        '': html(page('<p>gone for good</p>'), {
          status: 410,
          headers: { 'x-robots-tag': 'noindex', 'x-other': '1' },
        }),
      },
      expect: { status: 410, reads: ['gone for good'], headers: { 'x-robots-tag': 'noindex' } },
    },
    {
      name: 'an origin that is down for repair',
      why: 'Never kept, however nice its page is.',
      routes: { '': html(page('<p>back soon</p>'), { status: 503, headers: { 'retry-after': '60' } }) },
      expect: { outcome: 'origin-error', status: 503 },
    },
    {
      name: 'an answer without content',
      why: '204 leaves a browser where it was: on the page before.',
      routes: { '': only(204) },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'an answer that asks to reset',
      why: '205 has no content either.',
      routes: { '': only(205) },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'a 304 without a condition',
      why: 'There is nothing that has not been modified.',
      routes: { '': only(304) },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'an error without a body',
      why: 'The browser has a page of its own for it, which is none of the site.',
      routes: { '': html('', { status: 404 }) },
      expect: { outcome: 'blank' },
    },
    {
      name: 'two metas for the status, and two for a header',
      why: 'A component adds its own to those of the template: the first counts.',
      routes: {
        '': page(
          '<p>page</p>',
          `<meta name="prerender-status-code" content="404"><meta name="render:status_code" content="200">
           <meta name="prerender-header" content="X-Robots-Tag: noindex"><meta name="render:header" content="x-robots-tag: all">`,
        ),
      },
      expect: { status: 404, reads: ['page'], headers: { 'x-robots-tag': 'noindex' } },
    },
    {
      name: 'a body without anything',
      why: '200 and nothing to see: a failure of scripts, most of the time.',
      routes: { '': '<!DOCTYPE html><title>t</title><div id="app"></div><script>null.x</script>' },
      expect: { outcome: 'blank' },
    },
    {
      name: 'an origin that hangs up',
      why: 'No answer at all.',
      routes: { '': cutOff },
      expect: { outcome: 'origin-unreachable' },
    },
    {
      name: 'an origin that says nothing',
      why: 'Connected, asked, and silent.',
      routes: { '': never },
      expect: { outcome: 'timed-out' },
    },
    {
      name: 'a download',
      why: 'HTML by type, and not meant to be shown.',
      routes: {
        '': html(page('<p>x</p>'), { headers: { 'content-disposition': 'attachment; filename="x.html"' } }),
      },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'data instead of a page',
      why: 'JSON in a browser is shown as text; a crawler must get the JSON.',
      routes: { '': html('{"a":1}', { type: 'application/json' }) },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'plain text that looks like a page',
      why: 'The type decides, not the bytes.',
      routes: { '': html('<!DOCTYPE html><p>x', { type: 'text/plain' }) },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'a page without a type',
      why: 'Then the bytes decide.',
      routes: { '': (_request, response) => void response.end(page('<p>found by its bytes</p>')) },
      expect: { reads: ['found by its bytes'] },
    },
    {
      name: 'bytes without a type',
      why: 'No page comes of them.',
      routes: {
        '': (_request, response) =>
          void response.end(Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13])),
      },
      expect: { outcome: 'not-html' },
    },
    {
      name: 'a status said by the page',
      why: 'A single-page application answers 200 to everything, and knows better.',
      routes: {
        '': scripted(
          `document.head.insertAdjacentHTML('beforeend', '<meta name="prerender-status-code" content="404"><meta name="prerender-header" content="X-Robots-Tag: noindex"><meta name="prerender-header" content="Set-Cookie: a=1">'); show('no such thing')`,
        ),
      },
      expect: {
        status: 404,
        headers: { 'x-robots-tag': 'noindex' },
        reads: ['no such thing'],
        hasNot: ['prerender-'],
      },
    },
    {
      name: "rendertron's spelling of a status",
      why: 'Sites that come from there keep their metas.',
      routes: {
        '': page(
          '<p>members only</p>',
          '<meta name="render:status_code" content="401"><meta name="render:header" content="Link: </x>; rel=next">',
        ),
      },
      expect: { status: 401, headers: { link: '</x>; rel=next' }, hasNot: ['render:'] },
    },
    {
      name: 'a redirect said by the page',
      why: 'Status and Location in two metas make a redirect.',
      routes: {
        '': page(
          '<p>moved</p>',
          '<meta name="prerender-status-code" content="301"><meta name="prerender-header" content="Location: /there?x=1">',
        ),
      },
      expect: { outcome: 'redirect', status: 301, location: '/there?x=1' },
    },
    {
      name: 'an error said by the page',
      why: 'The application could not get its data, and says so: given to who waits, not to be kept.',
      routes: { '': page('<p>try again</p>', '<meta name="prerender-status-code" content="503">') },
      expect: { outcome: 'site-error' },
    },
    {
      name: 'a status that makes no sense',
      why: 'Empty, unknown, or a redirect to nowhere: the origin’s own counts.',
      routes: {
        '': page(
          '<p>just a page</p>',
          '<meta name="prerender-status-code" content="301"><meta name="prerender-status-code" content="99x">',
        ),
      },
      expect: { status: 200, reads: ['just a page'] },
    },
    {
      name: 'a page chosen by its query',
      why: 'Letters that are escaped in an address, seen by the origin and by scripts alike.',
      at: 'caf%C3%A9?b=2&a=%20x',
      routes: {
        'caf%C3%A9': (request, response) =>
          void response
            .setHeader('content-type', 'text/html')
            .end(
              scripted(
                `show(${JSON.stringify(`sent ${request.url?.split('/').at(-1)}`)}); show('read ' + decodeURIComponent(location.pathname).split('/').at(-1) + location.search)`,
              ),
            ),
      },
      expect: { reads: ['sent caf%C3%A9?b=2&a=%20x', 'read café?b=2&a=%20x'] },
    },
    {
      name: 'a page in brotli',
      why: 'Compressed on its way, and its parts in gzip.',
      routes: {
        '': html(brotliCompressSync(scripted(`fetch('part.txt').then((r) => r.text()).then(show)`)), {
          headers: { 'content-encoding': 'br' },
        }),
        'part.txt': html(gzipSync('unpacked part'), {
          type: 'text/plain',
          headers: { 'content-encoding': 'gzip' },
        }),
      },
      expect: { reads: ['unpacked part'] },
    },
    {
      name: 'hints before the answer',
      why: '103 is a status, and not that of the page.',
      routes: {
        '': (_request, response) => {
          response.writeEarlyHints({ link: '</own.css>; rel=preload; as=style' })
          setTimeout(
            () =>
              response.writeHead(200, { 'content-type': 'text/html' }).end(page('<p>after the hints</p>')),
            50,
          )
        },
      },
      expect: { status: 200, reads: ['after the hints'] },
    },
    {
      name: 'a page in a sandbox',
      why: 'Its scripts do not run for people either.',
      routes: {
        '': html(page('<p id="out">without scripts</p><script>out.textContent = "wrong"</script>'), {
          headers: { 'content-security-policy': 'sandbox' },
        }),
      },
      expect: { reads: ['without scripts'] },
    },
    {
      name: 'a page under a strict policy',
      why: 'Content-Security-Policy and Trusted Types bind the page, not the snapshot.',
      routes: {
        '': html('<!DOCTYPE html><title>t</title><p id="out"></p><script src="own.js"></script>', {
          headers: {
            'content-security-policy':
              "default-src 'self'; script-src 'self'; require-trusted-types-for 'script'",
          },
        }),
        'own.js': script(`setTimeout(() => requestAnimationFrame(() => out.append('under policy')), 500)`),
      },
      expect: { reads: ['under policy'] },
    },
  ],
}
