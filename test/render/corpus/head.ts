import { scripted } from '../../support/renderer.ts'
import { html, page, type Theme } from '../corpus-page.ts'

/** What crawlers read before anything else, and how a document is written down. */
export const head: Theme = {
  name: 'head',
  pages: [
    {
      name: 'title, canonical and metas set by script',
      why: 'The shell has those of the shop, the page its own.',
      routes: {
        '': page(
          `<p>kettle</p><script>document.title = 'Kettle & Co <3'; document.querySelector('[rel=canonical]').href = '/kettle'
          document.querySelector('[name=description]').content = 'A "good" kettle'; document.head.insertAdjacentHTML('beforeend', '<meta property="og:title" content="Kettle"><link rel="alternate" hreflang="de" href="/de/kettle">')</script>`,
          '<meta name="description" content="shop"><link rel="canonical" href="/">',
        ),
      },
      expect: {
        has: [
          '<title>Kettle &amp; Co &lt;3</title>',
          '<link rel="canonical" href="/kettle">',
          'content="A &quot;good&quot; kettle"',
          'property="og:title"',
          'hreflang="de"',
        ],
        hasNot: ['content="shop"'],
      },
    },
    {
      name: 'JSON-LD and other data in scripts',
      why: 'They are scripts by name only, and what search engines read most carefully.',
      routes: {
        '': page(`<p>data</p><script type="application/json" id="__NEXT_DATA__">{"page":"/"}</script><script type="text/template"><b>{{x}}</b></script><script type="speculationrules">{}</script><script>
          const s = document.createElement('script'); s.type = 'application/ld+json'; s.textContent = JSON.stringify({ '@type': 'Product', name: 'a </b> & c' }); document.head.append(s); window.__STATE__ = 1</script>`),
      },
      expect: {
        has: [
          '<script type="application/ld+json">{"@type":"Product","name":"a </b> & c"}</script>',
          '__NEXT_DATA__',
          '{{x}}',
        ],
        hasNot: ['speculationrules', '__STATE__'],
      },
    },
    {
      name: 'noscript in head and body',
      why: 'With scripts on, its content is text: written down as such it would be escaped.',
      routes: {
        '': page(
          '<p>page</p><noscript><p class="n">please <b>enable</b> scripts</p></noscript>',
          '<noscript><style>.js { display: none }</style></noscript>',
        ),
      },
      expect: {
        has: [
          '<noscript><style>.js { display: none }</style></noscript>',
          '<noscript><p class="n">please <b>enable</b> scripts</p></noscript>',
        ],
      },
    },
    {
      name: 'templates',
      why: 'Their content is no part of the page, and stays where it is.',
      routes: {
        '': page(
          `<template id="t"><p>row</p></template><div id="out"></div><script>out.append(t.content.querySelector('p').cloneNode(true))</script>`,
        ),
      },
      expect: { has: [/<template id="t"><p>row<\/p>/, '<div id="out"><p>row</p></div>'] },
    },
    {
      name: 'the markers of frameworks',
      why: 'Empty comments and numbers, by the thousand, that only a script would read; what authors wrote stays.',
      routes: {
        '': page(
          `<!-- of the author --><!--noindex--><p id="out">one<!-- -->two<!----><!--[--><!--]--><!--$--><!--/$--><!--v-if--><!--ng-container--><!--?lit$123$--><!--lit-part abc--><!--/lit-part--></p><!--/noindex-->`,
        ),
      },
      expect: {
        reads: ['onetwo'],
        has: ['<!-- of the author -->', '<!--noindex-->', '<!--/noindex-->', '<p id="out">onetwo</p>'],
      },
    },
    {
      name: 'a base of its own',
      why: 'It belongs to the page: kept, once, and none is added.',
      routes: {
        '': page(
          '<p id="out"></p><a href="next">next</a><script>fetch("x.txt").then((r) => r.text()).then((text) => out.append(text))</script>',
          '<base href="sub/">',
        ),
        'sub/x.txt': html('from sub', { type: 'text/plain' }),
      },
      expect: {
        reads: ['from sub'],
        has: [/<base href="sub\/">/, '<a href="next">'],
        hasNot: [/<base[\s\S]*<base/],
      },
    },
    {
      name: 'no base where there was none',
      why: 'A base that a renderer adds breaks every #link and SVG reference.',
      routes: { '': page('<a href="#part">part</a><a href="../up">up</a>') },
      expect: { has: ['<a href="#part">', '<a href="../up">'], hasNot: ['<base'] },
    },
    {
      name: 'a document in quirks mode',
      why: 'A doctype that was not there would change its layout.',
      routes: { '': '<html><head><title>t</title></head><body><p>quirks</p></body></html>' },
      expect: { reads: ['quirks'], has: [/^<html>/], hasNot: [/doctype/i] },
    },
    {
      name: 'a doctype of the old days',
      why: 'Public and system identifiers choose the mode.',
      routes: {
        '': '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd"><title>t</title><p>almost standards</p>',
      },
      expect: {
        has: [
          /^<!DOCTYPE html PUBLIC "-\/\/W3C\/\/DTD HTML 4\.01 Transitional\/\/EN" "http:\/\/www\.w3\.org\/TR\/html4\/loose\.dtd">/,
        ],
      },
    },
    {
      name: 'bytes in windows-1252 by header',
      why: 'The snapshot is UTF-8, whatever came.',
      routes: {
        '': html(Buffer.from('<!DOCTYPE html><title>t</title><p>caf\xe9 \x80 5</p>', 'latin1'), {
          type: 'text/html; charset=windows-1252',
        }),
      },
      expect: { reads: ['café € 5'], has: ['<meta charset="utf-8">'] },
    },
    {
      name: 'bytes in windows-1252 by meta',
      why: 'A declaration left as it was would make two of each accented letter.',
      routes: {
        '': html(
          Buffer.from(
            '<!DOCTYPE html><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>t</title><p>na\xefve</p>',
            'latin1',
          ),
          { type: 'text/html' },
        ),
      },
      expect: { reads: ['naïve'], has: ['<meta charset="utf-8">'], hasNot: ['iso-8859-1'] },
    },
    {
      name: 'bytes in Shift_JIS',
      why: 'Two bytes a letter, some of them backslashes.',
      routes: {
        '': html(
          Buffer.concat([
            Buffer.from('<!DOCTYPE html><meta charset="shift_jis"><title>t</title><p>'),
            Buffer.from('93fa967b8cea955c', 'hex'),
            Buffer.from('</p>'),
          ]),
          { type: 'text/html' },
        ),
      },
      expect: { reads: ['日本語表'], hasNot: ['shift_jis'] },
    },
    {
      name: 'bytes in UTF-16 with a mark',
      why: 'The mark at the beginning decides against all that is declared.',
      routes: {
        '': html(Buffer.from('\ufeff<!DOCTYPE html><title>t</title><p>žluťoučký kůň</p>', 'utf16le'), {
          type: 'text/html; charset=utf-8',
        }),
      },
      expect: { reads: ['žluťoučký kůň'] },
    },
    {
      name: 'a document as XHTML',
      why: 'Parsed as XML, written down as HTML.',
      routes: {
        '': html(
          '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>t</title></head><body><p id="out"/><script>document.getElementById("out").append("by XML")</script><br/><p>after</p></body></html>',
          { type: 'application/xhtml+xml' },
        ),
      },
      expect: { reads: ['by XML', 'after'], hasNot: ['</br>'] },
    },
    {
      name: 'attributes of the outermost elements',
      why: 'Direction, language and theme are set there by script.',
      routes: {
        '': scripted(
          `document.documentElement.lang = 'ar'; document.documentElement.dir = 'rtl'; document.documentElement.dataset.theme = 'a"b'; document.body.className = 'ready'; show('text')`,
        ),
      },
      expect: { has: ['<html lang="ar" dir="rtl" data-theme="a&quot;b">', '<body class="ready">'] },
    },
    {
      name: 'structures that a parser would not build',
      why: 'Scripts nest what HTML forbids; a crawler parses it anew, and has to find every word.',
      routes: {
        '': page(`<div id="out"></div><script>const make = (name, ...inner) => { const e = document.createElement(name); e.append(...inner); return e }
          out.append(make('p', 'a', make('div', 'b'), 'c'), make('a', 'd', make('a', 'e')), make('table', make('tr', make('td', 'f'))), make('pre', '\\n\\ng'), make('button', make('button', 'h')), make('ul', make('p', 'i')))</script>`),
      },
      expect: { reads: ['a b c'] },
    },
    {
      name: 'letters that must be escaped',
      why: 'Text that looks like markup, in text and in attributes.',
      routes: { '': scripted(`show('<b>1 < 2 && "x"</b>\\u00a0end'); out.title = 'a"<b>&'`) },
      expect: { reads: ['<b>1 < 2 && "x"</b> end'], has: [/title="a&quot;(<b>|&lt;b&gt;)&amp;"/] },
    },
    {
      name: 'handlers in attributes',
      why: 'They call scripts that are gone; names that only begin alike stay.',
      routes: {
        '': page(
          `<p onclick="x()" one="1" on-tap="y">press</p><svg onload="z()"><a href="#">link</a></svg><script>document.querySelector('p').setAttribute('onmouseover', 'x()')</script>`,
        ),
      },
      expect: {
        reads: ['press'],
        has: ['one="1"', 'on-tap="y"'],
        hasNot: ['onclick', 'onload', 'onmouseover'],
      },
    },
  ],
}
