import { brotliCompressSync, gzipSync } from 'node:zlib'
import { scripted } from '../../support/renderer.ts'
import { html, page, script, type Theme } from '../corpus-page.ts'

/** How a document comes, what crawlers read of it before anything else, and how it is written down. */
export const head: Theme = {
  'the markers of frameworks': {
    why: 'Empty comments and numbers, by the thousand, that only a script would read; what authors wrote stays.',
    document: page`<!-- of the author --><!--noindex--><p id="out">one<!-- -->two<!----><!--[--><!--]--><!--$--><!--/$--><!--v-if--><!--ng-container--><!--?lit$123$--><!--lit-part abc--><!--/lit-part--></p><!--/noindex-->`,
    expect: {
      reads: ['onetwo'],
      has: ['<!-- of the author -->', '<!--noindex-->', '<!--/noindex-->', '<p id="out">onetwo</p>'],
    },
  },
  'a base of its own': {
    why: 'It belongs to the page: kept, once, and none is added.',
    document: page(
      '<p id="out"></p><a href="next">next</a><script>fetch("x.txt").then((r) => r.text()).then((text) => out.append(text))</script>',
      '<base href="sub/">',
    ),
    parts: { 'sub/x.txt': html('from sub', { type: 'text/plain' }) },
    expect: {
      reads: ['from sub'],
      has: [/<base href="sub\/">/, '<a href="next">'],
      hasNot: [/<base[\s\S]*<base/],
    },
  },
  'bytes in windows-1252 by meta': {
    why: 'A declaration left as it was would make two of each accented letter.',
    document: html(
      Buffer.from(
        '<!DOCTYPE html><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>t</title><p>na\xefve</p>',
        'latin1',
      ),
      { type: 'text/html' },
    ),
    expect: { reads: ['naïve'], has: ['<meta charset="utf-8">'], hasNot: ['iso-8859-1'] },
  },
  'bytes in UTF-16 with a mark': {
    why: 'The mark at the beginning decides against all that is declared.',
    document: html(Buffer.from('\ufeff<!DOCTYPE html><title>t</title><p>žluťoučký kůň</p>', 'utf16le'), {
      type: 'text/html; charset=utf-8',
    }),
    expect: { reads: ['žluťoučký kůň'] },
  },
  'a document as XHTML': {
    why: 'Parsed as XML, written down as HTML.',
    document: html(
      '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>t</title></head><body><p id="out"/><script>document.getElementById("out").append("by XML")</script><br/><p>after</p></body></html>',
      { type: 'application/xhtml+xml' },
    ),
    expect: { reads: ['by XML', 'after'], hasNot: ['</br>'] },
  },
  'structures that a parser would not build': {
    why: 'Scripts nest what HTML forbids; a crawler parses it anew, and has to find every word.',
    document: page`<div id="out"></div><script>const make = (name, ...inner) => { const e = document.createElement(name); e.append(...inner); return e }
          out.append(make('p', 'a', make('div', 'b'), 'c'), make('a', 'd', make('a', 'e')), make('table', make('tr', make('td', 'f'))), make('pre', '\\n\\ng'), make('button', make('button', 'h')), make('ul', make('p', 'i')))</script>`,
    expect: { reads: ['a b c'] },
  },
  'letters that must be escaped': {
    why: 'Text that looks like markup, in text and in attributes.',
    document: scripted`show('<b>1 < 2 && "x"</b>\\u00a0end'); out.title = 'a"<b>&'`,
    expect: { reads: ['<b>1 < 2 && "x"</b> end'], has: [/title="a&quot;(<b>|&lt;b&gt;)&amp;"/] },
  },
  'a page chosen by its query': {
    why: 'Letters that are escaped in an address, seen by the origin and by scripts alike.',
    at: 'caf%C3%A9?b=2&a=%20x',
    parts: {
      'caf%C3%A9': (request, response) =>
        void response
          .setHeader('content-type', 'text/html')
          .end(
            scripted`show(${JSON.stringify(`sent ${request.url?.split('/').at(-1)}`)}); show('read ' + decodeURIComponent(location.pathname).split('/').at(-1) + location.search)`,
          ),
    },
    expect: { reads: ['sent caf%C3%A9?b=2&a=%20x', 'read café?b=2&a=%20x'] },
  },
  'a page in brotli': {
    why: 'Compressed on its way, and its parts in gzip.',
    document: html(brotliCompressSync(scripted`fetch('part.txt').then((r) => r.text()).then(show)`), {
      headers: { 'content-encoding': 'br' },
    }),
    parts: {
      'part.txt': html(gzipSync('unpacked part'), {
        type: 'text/plain',
        headers: { 'content-encoding': 'gzip' },
      }),
    },
    expect: { reads: ['unpacked part'] },
  },
  'a page in a sandbox': {
    why: 'Its scripts do not run for people either.',
    document: html(page`<p id="out">without scripts</p><script>out.textContent = "wrong"</script>`, {
      headers: { 'content-security-policy': 'sandbox' },
    }),
    expect: { reads: ['without scripts'] },
  },
  'a page under a strict policy': {
    why: 'Content-Security-Policy and Trusted Types bind the page, not the snapshot.',
    document: html('<!DOCTYPE html><title>t</title><p id="out"></p><script src="own.js"></script>', {
      headers: {
        'content-security-policy':
          "default-src 'self'; script-src 'self'; require-trusted-types-for 'script'",
      },
    }),
    parts: {
      'own.js': script`setTimeout(() => requestAnimationFrame(() => out.append('under policy')), 500)`,
    },
    expect: { reads: ['under policy'] },
  },
}
