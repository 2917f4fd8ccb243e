import { page, css as sheet, type Theme } from '../corpus-page.ts'

/** Rules that are in no markup. */
export const css: Theme = {
  'a sheet that the document adopts': {
    why: 'It has no element at all.',
    document: page`<p>styled</p><script>const s = new CSSStyleSheet({ media: 'print' }); s.replaceSync('p { color: teal }'); const t = new CSSStyleSheet(); t.replaceSync('p { margin: 0px }'); t.disabled = true; document.adoptedStyleSheets = [s, t]</script>`,
    expect: { has: ['<style media="print">p { color: teal; }</style></head>'], hasNot: ['margin: 0px'] },
  },
  'rules changed after they were written': {
    why: 'The text of the element says something else than the sheet.',
    document: page(
      `<p class="a">styled</p><script>const [rules] = [document.querySelector('style').sheet]; rules.cssRules[0].style.color = 'red'; rules.deleteRule(1); rules.insertRule('.c { color: blue; }', 1)</script>`,
      '<style>.a { color: teal } .b { color: gray }</style>',
    ),
    expect: { has: [/\.a { color: red; }\s*\.c { color: blue; }/], hasNot: ['gray'] },
  },
  'a sheet that is switched off': {
    why: 'A theme that is not chosen must not come back.',
    document: page(
      '<p>styled</p><script>document.querySelector("style").sheet.disabled = true</script>',
      '<style>p { color: teal }</style>',
    ),
    expect: { has: ['<style media="not all">'] },
  },
  'a sheet that is loaded without blocking': {
    why: 'It becomes a sheet by an inline handler, and must stay one.',
    document: page(
      '<p>styled</p>',
      `<link rel="preload" as="style" href="late.css" onload="this.onload=null;this.rel='stylesheet'"><link rel="stylesheet" href="print.css" media="print" onload="this.media='all'">`,
    ),
    parts: { 'late.css': sheet('p { color: teal }', 60), 'print.css': sheet('p { margin: 0 }', 60) },
    expect: {
      has: [/<link rel="stylesheet"[^>]* href="late.css"/, /href="print.css" media="all"/],
      hasNot: ['onload'],
    },
  },
  'a page hidden until its style has come': {
    why: 'Anti-flicker snippets hide everything, and the crawler would see nothing.',
    document: page(
      `<p>shown</p><script>document.documentElement.classList.add('hide'); setTimeout(() => document.documentElement.classList.remove('hide'), 4000)</script>`,
      '<style>.hide { opacity: 0 !important }</style>',
    ),
    expect: { reads: ['shown'], hasNot: [/<html[^>]*class="hide"/] },
  },
  'layers, nesting, containers and imports': {
    why: 'Rules of rules, and an import that stays where it was.',
    document: page(
      `<p class="a">styled</p><script>const { sheet } = document.querySelector('style'); sheet.insertRule('@layer base { .a { color: teal; & b { color: red; } } }', sheet.cssRules.length)
          sheet.insertRule('@container (width > 9px) { .a { margin: 1px; } }', sheet.cssRules.length)</script>`,
      '<style>@import "more.css"; .z { color: gray }</style>',
    ),
    parts: { 'more.css': sheet('.m { color: gray }') },
    expect: {
      has: [
        /<style>@import url\("more\.css"\);/,
        /@layer base {\s*\.a {\s*color: teal;\s*& b { color: red; }/,
        '@container (width > 9px)',
      ],
    },
  },
  'rules added to a linked sheet': {
    why: 'The address of the sheet says nothing about what a script put into it.',
    limit: true,
    document: page(
      `<p class="a">styled</p><script>document.querySelector('link').sheet.insertRule('.a { color: teal; }')</script>`,
      '<link rel="stylesheet" href="own.css">',
    ),
    parts: { 'own.css': sheet('p { margin: 0 }') },
    expect: { reads: ['styled'], has: ['href="own.css"'], hasNot: ['teal'] },
  },
}
