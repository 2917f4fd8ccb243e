import { scripted } from '../../support/renderer.ts'
import { css, json, page, script, type Theme } from '../corpus-page.ts'

const module = (text: string) => page(`<ul id="out"></ul><script type="module">${text}</script>`)

/** Scripts that come in parts. */
export const modules: Theme = {
  name: 'modules',
  pages: [
    {
      name: 'a graph of modules seven deep',
      why: 'Each level is known only when the one above has come.',
      routes: {
        '': module(`import { depth } from './level.js?n=1'; out.append('depth ' + depth)`),
        ...Object.fromEntries(
          Array.from({ length: 7 }, (_, at) => [
            `level.js?n=${at + 1}`,
            script(
              at === 6 ? 'export const depth = 7' : `export { depth } from './level.js?n=${at + 2}'`,
              25,
            ),
          ]),
        ),
      },
      expect: { reads: ['depth 7'] },
    },
    {
      name: 'routes imported when needed',
      why: 'The shell is whole, and nothing is in it, until the chunk of the route has come.',
      routes: {
        '': scripted(`(async () => { const { view } = await import('./route.js'); show(await view()) })()`),
        'route.js': script(
          `export const view = async () => { const { default: text } = await import('./text.js'); return text }`,
          80,
        ),
        'text.js': script(`export default 'the route itself'`, 80),
      },
      expect: { reads: ['the route itself'] },
    },
    {
      name: 'await at the top of a module',
      why: 'DOMContentLoaded has long been when the module goes on.',
      routes: {
        '': module(
          `const data = await (await fetch('data.json')).json(); await new Promise((done) => setTimeout(done, 800)); out.append(data.text)`,
        ),
        'data.json': json({ text: 'awaited at the top' }, 100),
      },
      expect: { reads: ['awaited at the top'] },
    },
    {
      name: 'an import map',
      why: 'Bare names are found by a map that is itself a script, and must not stay in the snapshot.',
      routes: {
        '': page(
          `<ul id="out"></ul><script type="importmap">{"imports":{"words/":"./lib/"}}</script><script type="module">import { word } from 'words/one.js'; out.append(word)</script>`,
        ),
        'lib/one.js': script(`export const word = 'mapped'`),
      },
      expect: { reads: ['mapped'], hasNot: ['importmap'] },
    },
    {
      name: 'modules of JSON and CSS',
      why: 'Imported with a type; the sheet is adopted, and exists in no element.',
      routes: {
        '': module(`import data from './data.json' with { type: 'json' }; import sheet from './own.css' with { type: 'css' }
          document.adoptedStyleSheets = [sheet]; out.append(data.text)`),
        'data.json': json({ text: 'typed import' }),
        'own.css': css('.own { color: teal }'),
      },
      expect: { reads: ['typed import'], has: [/<style>\.own { color: teal; }<\/style>/] },
    },
    {
      name: 'modules in a circle',
      why: 'Each waits for the other.',
      routes: {
        '': module(`import { a } from './a.js'; out.append(a())`),
        'a.js': script(`import { b } from './b.js'; export const a = () => 'a and ' + b()`),
        'b.js': script(`import { a } from './a.js'; export const b = () => 'b'`),
      },
      expect: { reads: ['a and b'] },
    },
    {
      name: 'a module that is missing',
      why: 'After a deploy old chunks are gone; the page has an answer for it.',
      routes: { '': scripted(`import('./gone.js').catch(() => show('please reload'))`) },
      expect: { status: 200, reads: ['please reload'] },
    },
    {
      name: 'module and nomodule',
      why: 'Of two builds exactly one must run, and neither stays.',
      routes: {
        '': page(
          `<ul id="out"></ul><script type="module" src="new.js"></script><script nomodule src="old.js"></script><link rel="modulepreload" href="new.js"><link rel="preload" as="script" href="new.js">`,
        ),
        'new.js': script(`out.append('new build')`),
        'old.js': script(`out.append('old build')`),
      },
      expect: { reads: ['new build'], readsNot: ['old build'], hasNot: ['new.js', 'old.js'] },
    },
    {
      name: 'defer, async and their order',
      why: 'Deferred scripts keep their order after the parser, others do not.',
      routes: {
        '': page(
          `<ul id="out"></ul><script defer src="one.js"></script><script defer src="two.js"></script><script>out.append('inline, ')</script>`,
        ),
        'one.js': script(`out.append('one, ')`, 120),
        'two.js': script(`out.append('two.')`, 10),
      },
      expect: { reads: ['inline, one, two.'] },
    },
    {
      name: 'a module from a blob',
      why: 'Built by the page itself, and fetched from nowhere.',
      routes: {
        '': scripted(
          `import(URL.createObjectURL(new Blob(["export const word = 'from a blob'"], { type: 'text/javascript' }))).then(({ word }) => show(word))`,
        ),
      },
      expect: { reads: ['from a blob'] },
    },
    {
      name: 'WebAssembly compiled as it comes',
      why: 'Compiled on other threads while the page rests.',
      routes: {
        '': scripted(
          `WebAssembly.instantiateStreaming(fetch('add.wasm')).then(({ instance }) => show('sum ' + instance.exports.add(40, 2)))`,
        ),
        'add.wasm': (_request, response) =>
          void response
            .setHeader('content-type', 'application/wasm')
            .end(
              Buffer.from(
                '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
                'hex',
              ),
            ),
      },
      expect: { reads: ['sum 42'] },
    },
  ],
}
