import { scripted } from '../../support/renderer.ts'
import { css, json, page, script, type Theme } from '../corpus-page.ts'

const module = (text: TemplateStringsArray) => page`<ul id="out"></ul><script type="module">${text}</script>`

/** Scripts that come in parts. */
export const modules: Theme = {
  'a graph of modules seven deep': {
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
  'modules of JSON and CSS': {
    document: module`import data from './data.json' with { type: 'json' }; import sheet from './own.css' with { type: 'css' }
          document.adoptedStyleSheets = [sheet]; out.append(data.text)`,
    parts: { 'data.json': json({ text: 'typed import' }), 'own.css': css('.own { color: teal }') },
    expect: { reads: ['typed import'], has: [/<style>\.own { color: teal; }<\/style>/] },
  },
  'WebAssembly compiled as it comes': {
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
