import { type App, html, json, packageDir } from './app.ts'

/** A structured editor built with Svelte, fed by a request. */
export const jsonEditor: App = {
  name: 'json-editor',
  framework: 'Svelte',
  folders: { '/editor/': packageDir('vanilla-jsoneditor') },
  answers: {
    '/': html(`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Stock</title></head>
  <body>
    <div id="editor"></div>
    <script type="module">
      import { JSONEditor } from '/editor/index.js'
      const stock = await (await fetch('/stock.json')).json()
      new JSONEditor({ target: document.getElementById('editor'), props: { content: { json: stock } } })
    </script>
  </body>
</html>
`),
    '/stock.json': json({ warehouse: 'Rotterdam', pallets: [{ sku: 'copper-kettle', count: 418 }] }),
  },
  pages: [{ path: '/', texts: ['Rotterdam', 'pallets'] }],
}
