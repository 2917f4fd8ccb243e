import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createElement as h, Suspense, use } from 'react'
import { renderToPipeableStream } from 'react-dom/server'
import type { Answer } from '../support/renderer.ts'
import { script } from './corpus-page.ts'

const requireHere = createRequire(import.meta.url)
const fileOf = (name: string, file: string, from = requireHere) =>
  readFileSync(path.join(path.dirname(from.resolve(`${name}/package.json`)), 'cjs', file), 'utf8')
const requireOfDom = createRequire(requireHere.resolve('react-dom/package.json'))

/** React as npm has it, in the order in which its parts need each other. */
const PARTS = {
  react: fileOf('react', 'react.production.js'),
  scheduler: fileOf('scheduler', 'scheduler.production.js', requireOfDom),
  'react-dom': fileOf('react-dom', 'react-dom.production.js'),
  'react-dom/client': fileOf('react-dom', 'react-dom-client.production.js'),
}

/** A script with React and its client in it; `h` is `createElement`. */
export function reactClient(app: string): Answer {
  const parts = Object.entries(PARTS)
    .map(([name, text]) => `define(${JSON.stringify(name)}, function (exports, module) {\n${text}\n})`)
    .join('\n')
  return script(`const known = {}; const process = { env: { NODE_ENV: 'production' } }; const require = (name) => known[name]
    function define(name, make) { const module = { exports: {} }; known[name] = module.exports; make.call(module.exports, module.exports, module); known[name] = module.exports }
    ${parts}
    const { createElement: h, Suspense, lazy, use, useDeferredValue, useEffect, useState, useTransition } = known.react; const { createRoot, hydrateRoot } = known['react-dom/client']
    ${app}`)
}

/** A page whose parts come as they are ready, each after some time of the server. */
export const streamedByReact: Answer = (_request, response) => {
  const after = (text: string, ms: number) => new Promise<string>((done) => setTimeout(() => done(text), ms))
  const Part = ({ of }: { of: Promise<string> }) => h('p', null, use(of))
  const part = (text: string, ms: number) => h(Part, { of: after(text, ms) })
  const reviews = h(Suspense, { fallback: 'loading reviews' }, part('a review', 700))
  const rows = h(Suspense, { fallback: 'loading rows' }, part('two rows of shoes', 400), reviews)
  const more = h(Suspense, { fallback: 'loading more' }, part('more of it', 150))
  const head = h('head', null, h('title', null, 't'))
  const shop = h('html', null, head, h('body', null, h('h1', null, 'the shop'), rows, more))
  const stream = renderToPipeableStream(shop, {
    onShellReady() {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      stream.pipe(response)
    },
    onError: (error) => void response.destroy(error instanceof Error ? error : undefined),
  })
}
