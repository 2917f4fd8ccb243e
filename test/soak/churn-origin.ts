import { serve } from '../support/loopback.ts'

/** A client-rendered shop of as many pages as are asked for, with a sitemap of the first of them. */
export type ChurnOrigin = { url: string; close(): Promise<void> }

export const SITEMAP_PAGES = 12
const ROWS = 120

const DOCUMENT = `<!doctype html><html><head><title>shop</title></head><body><main></main><script>
fetch('/stock?of=' + location.pathname).then((answer) => answer.json()).then((stock) => {
  const main = document.querySelector('main')
  for (const { name, price } of stock) {
    const row = document.createElement('p')
    row.textContent = name + ' for ' + price + ' at ' + location.host + location.pathname
    main.append(row)
  }
})
</script></body></html>`

export async function startChurnOrigin(): Promise<ChurnOrigin> {
  const { url, close } = await serve((request, response) => {
    const send = (type: string, body: string) => response.writeHead(200, { 'content-type': type }).end(body)
    const { pathname } = new URL(request.url ?? '/', 'http://shop')
    if (pathname === '/stock') {
      // Otherwise each time, so that what is stored is new.
      const price = Math.random().toFixed(8)
      const stock = Array.from({ length: ROWS }, (_, row) => ({ name: `thing ${row}`, price }))
      send('application/json', JSON.stringify(stock))
    } else if (pathname === '/sitemap.xml') {
      const pages = Array.from({ length: SITEMAP_PAGES }, (_, at) => `<url><loc>${url}/p/${at}</loc></url>`)
      send('application/xml', `<?xml version="1.0"?><urlset>${pages.join('')}</urlset>`)
    } else if (pathname === '/robots.txt') send('text/plain', 'User-agent: *\nAllow: /\n')
    else send('text/html; charset=utf-8', DOCUMENT)
  })
  return { url, close }
}
