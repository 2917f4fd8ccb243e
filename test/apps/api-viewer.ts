import { type App, html, packageDir } from './app.ts'

/**
 * Documentation of web components, built with Lit: everything it shows is in shadow roots inside shadow roots. Served
 * unbundled, some 70 module files that an import map finds.
 */
const imports = {
  lit: '/npm/lit/index.js',
  'lit/': '/npm/lit/',
  'lit-html': '/npm/lit-html/lit-html.js',
  'lit-html/': '/npm/lit-html/',
  'lit-element/lit-element.js': '/npm/lit-element/lit-element.js',
  '@lit/reactive-element': '/npm/@lit/reactive-element/reactive-element.js',
  '@lit/reactive-element/': '/npm/@lit/reactive-element/',
  'highlight-ts/': '/npm/highlight-ts/',
  dompurify: '/npm/dompurify/dist/purify.es.js',
  marked: '/npm/marked/lib/marked.esm.js',
  tslib: '/npm/tslib/tslib.es6.js',
}

export const apiViewer: App = {
  name: 'api-viewer',
  framework: 'Lit',
  folders: Object.fromEntries(
    [
      'api-viewer-element',
      'lit',
      'lit-html',
      'lit-element',
      '@lit/reactive-element',
      'highlight-ts',
      'dompurify',
      'marked',
      'tslib',
    ].map((name) => [`/npm/${name}/`, packageDir(name)]),
  ),
  answers: {
    '/': html(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8"><title>Components</title>
    <script type="importmap">${JSON.stringify({ imports })}</script>
    <script type="module" src="/npm/api-viewer-element/lib/api-docs.js"></script>
  </head>
  <body><api-docs src="/npm/api-viewer-element/custom-elements.json"></api-docs></body>
</html>
`),
  },
  pages: [{ path: '/', texts: ['api-viewer-tabs', 'excludeKnobs', 'jsonFetched'] }],
}
