/** A page that changes: each request shows one rake less. */
export const RAKES = '/rakes'
export const RAKE_PICTURE = '/rake.svg'

export const rakePicture = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630">
  <rect width="1200" height="630" fill="#2fa28b"/><circle cx="950" cy="150" r="90" fill="#ffe08a"/>
  <path d="M250 560 L560 180 M470 150 L650 290 M430 190 L480 130 M480 230 L540 160 M540 270 L600 210" stroke="#0a463d" stroke-width="26"/>
</svg>`

let left = 30

export function rakesPage(): string {
  left--
  return `<!doctype html><html lang="en"><head><title>Garden rakes</title>
    <meta name="description" content="Every rake for every garden, with a handle of ash.">
    <link rel="canonical" href="https://shop.example.com/rakes">
    <meta property="og:title" content="Garden rakes with a handle of ash">
    <meta property="og:description" content="Made by hand, sharpened for life. Delivered in two days.">
    <meta property="og:image" content="/rake.svg"><meta property="og:site_name" content="The garden shop">
    <script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Garden rake","offers":{"@type":"Offer","price":"39.00"}}</script>
    <style>body { font: 18px sans-serif; margin: 0; color: #17211f } header { background: #0f6d5e; color: #fff; padding: 24px 48px }
    main { padding: 24px 48px; max-width: 60rem } img { width: 100%; border-radius: 12px } nav a { color: #fff; margin-right: 24px }</style></head>
    <body><header><h1>Garden rakes</h1><nav><a href="/">Home</a> <a href="/about">About us</a> <a href="https://news.example/">News</a></nav></header>
    <main><img src="/rake.svg" alt="A rake in the sun"><div id="app"></div></main><script>
      console.error('a thing that the owner should know')
      const lines = ['A rake for leaves, moss and gravel.', 'Twelve tines of spring steel.', 'Only ${left} left.',
        'A handle of ash, oiled three times.', 'We sharpen it for as long as you garden.']
      document.getElementById('app').innerHTML = lines.map((line) => '<p>' + line + '</p>').join('') + '<a href="/rakes/' + ${left} + '">Order</a>'
    </script></body></html>`
}
