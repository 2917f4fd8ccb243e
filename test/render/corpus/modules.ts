import { scripted } from '../../support/renderer.ts'
import { css, json, page, script, type Theme } from '../corpus-page.ts'

const module = (text: TemplateStringsArray) => page`<ul id="out"></ul><script type="module">${text}</script>`

/** Scripts that come in parts. */
export const modules: Theme = {
  'a graph of modules seven deep': {
    why: 'Each level is known only when the one above has come.',
    document: module`import { depth } from './level.js?n=1'; out.append('depth ' + depth)`,
    parts: {
      ...Object.fromEntries(
        Array.from({ length: 7 }, (_, at) => [
          `level.js?n=${at + 1}`,
          script(at === 6 ? 'export const depth = 7' : `export { depth } from './level.js?n=${at + 2}'`, 25),
        ]),
      ),
    },
    expect: { reads: ['depth 7'] },
  },
  'await at the top of a module': {
    why: 'DOMContentLoaded has long been when the module goes on.',
    document: module`const data = await (await fetch('data.json')).json(); await new Promise((done) => setTimeout(done, 800)); out.append(data.text)`,
    parts: { 'data.json': json({ text: 'awaited at the top' }, 100) },
    expect: { reads: ['awaited at the top'] },
  },
  'modules of JSON and CSS': {
    why: 'Imported with a type; the sheet is adopted, and exists in no element.',
    document: module`import data from './data.json' with { type: 'json' }; import sheet from './own.css' with { type: 'css' }
          document.adoptedStyleSheets = [sheet]; out.append(data.text)`,
    parts: { 'data.json': json({ text: 'typed import' }), 'own.css': css('.own { color: teal }') },
    expect: { reads: ['typed import'], has: [/<style>\.own { color: teal; }<\/style>/] },
  },
  'a module that is missing': {
    why: 'After a deploy old chunks are gone; the page has an answer for it.',
    document: scripted`import('./gone.js').catch(() => show('please reload'))`,
    expect: { reads: ['please reload'] },
  },
  'WebAssembly compiled as it comes': {
    why: 'Compiled on other threads while the page rests.',
    document: scripted`WebAssembly.instantiateStreaming(fetch('add.wasm')).then(({ instance }) => show('sum ' + instance.exports.add(40, 2)))`,
    parts: {
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
}
