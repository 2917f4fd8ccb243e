import { startTestRenderer } from './renderer.ts'

/** Renders a page that loops for ever; says when it does. */
const { routes, page } = await startTestRenderer({ slots: 1, timeoutMs: 60_000, dataDir: process.argv[2]! })
routes.set('/looping', (_request, response) => {
  console.log('looping')
  response.end()
})
routes.set('/', '<script>fetch("/looping").then(() => { while (true) {} })</script>')
await page('/')
