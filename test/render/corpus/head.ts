import { html, page, script, type Theme } from '../corpus-page.ts'

/** How a document comes, what crawlers read of it before anything else, and how it is written down. */
export const head: Theme = {
  'the markers of frameworks': {
    document: page`<!-- of the author --><!--noindex--><p id="out">one<!-- -->two<!----><!--[--><!--]--><!--$--><!--/$--><!--v-if--><!--ng-container--><!--?lit$123$--><!--lit-part abc--><!--/lit-part--></p><!--/noindex-->`,
    expect: {
      reads: ['onetwo'],
      has: ['<!-- of the author -->', '<!--noindex-->', '<!--/noindex-->', '<p id="out">onetwo</p>'],
    },
  },
  'a base of its own': {
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
    document: html(
      Buffer.from(
        '<!DOCTYPE html><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>t</title><p>na\xefve</p>',
        'latin1',
      ),
      { type: 'text/html' },
    ),
    expect: { reads: ['naïve'], has: ['<meta charset="utf-8">'], hasNot: ['iso-8859-1'] },
  },
  'a document as XHTML': {
    document: html(
      '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>t</title></head><body><p id="out"/><script>document.getElementById("out").append("by XML")</script><br/><p>after</p></body></html>',
      { type: 'application/xhtml+xml' },
    ),
    expect: { reads: ['by XML', 'after'], hasNot: ['</br>'] },
  },
  'a page under a strict policy': {
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
