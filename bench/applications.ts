import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

import { type Answer, type App, html, json } from '../test/apps/app.ts'
import { installedPeer } from '../test/support/installed-peer.ts'

/** Applications of npm, and small ones of ours built by the tools of npm. The first call installs and builds them, in ten minutes. */
export function openApplications(): readonly App[] {
  const { folderOf } = installedPeer('applications')
  const sources = path.resolve(import.meta.dirname, '../test/peers/applications')

  /** Our sources, built by the program and its arguments. */
  const built = (name: string, framework: string, command: string, out: string, paths = ['/']): App => {
    const folder = path.join(sources, name, out)
    if (!existsSync(path.join(folder, 'index.html'))) {
      const [program, ...given] = command.split(' ')
      const executable = path.join(folderOf('.bin'), program!)
      const { status, stdout, stderr } = spawnSync(process.execPath, [executable, ...given], {
        cwd: path.join(sources, name),
        encoding: 'utf8',
        env: { ...process.env, ASTRO_TELEMETRY_DISABLED: '1', STORYBOOK_DISABLE_TELEMETRY: '1' },
      })
      if (status !== 0) throw new Error(`${name}: ${command}: ${stdout}${stderr}`)
    }
    return app(name, framework, { '/': folder }, { '/': file(folder, 'index.html') }, paths)
  }
  const app = (
    name: string,
    framework: string,
    folders: App['folders'],
    answers: Record<string, Answer>,
    paths = ['/'],
  ): App => {
    const documents = paths.filter((at) => answers[at] === undefined).map((at) => at.split('?')[0]!)
    const added = documents.flatMap((at) => {
      const names = [`${at}.html`, `${at}/index.html`].map((one) => one.slice(1))
      const found = names.find((one) => existsSync(path.join(folders['/']!, one)))
      return found === undefined ? [] : [[at, file(folders['/']!, found)] as const]
    })
    return {
      ...{ name, framework, folders, fallback: '/' },
      answers: { '/stock.json': json(STOCK, 300), ...Object.fromEntries(added), ...answers },
      pages: paths.map((at) => ({ path: at, texts: [] })),
    }
  }
  const library = (
    name: string,
    framework: string,
    packages: readonly string[],
    head: string,
    body: string,
  ) =>
    app(name, framework, Object.fromEntries(packages.map((one) => [`/lib/${one}/`, folderOf(one)])), {
      '/': page(head, body),
      '/openapi.json': json(OPENAPI),
      '/more.json': json(STOCK, 200),
    })

  const directus = path.join(folderOf('@directus/app'), 'dist')
  const verdaccio = path.join(folderOf('@verdaccio/ui-theme'), 'static')
  const manifest = JSON.parse(readFileSync(path.join(verdaccio, 'manifest.json'), 'utf8')) as Record<
    string,
    string
  >
  const signalK = path.join(folderOf('@signalk/server-admin-ui'), 'public')
  const actual = path.join(folderOf('@actual-app/web'), 'build')

  return [
    built('vitepress', 'VitePress, two languages', 'vitepress build', '.vitepress/dist', [
      '/',
      '/guide',
      '/de/',
    ]),
    built('docusaurus', 'Docusaurus', 'docusaurus build', 'build', ['/', '/docs']),
    built('nuxt', 'Nuxt, static', 'nuxi generate', '.output/public', ['/', '/moon']),
    built('astro', 'Astro, islands of Preact and Solid', 'astro build', 'dist'),
    built('qwik', 'Qwik', 'vite build', 'dist'),
    built('ember', 'Ember', 'vite build', 'dist', ['/', '/lamp/Petrel']),
    built('storybook', 'Storybook', 'storybook build -o out', 'out', [
      '/?path=/story/lamp--lit',
      '/iframe.html?id=lamp--lit',
    ]),
    app(
      'directus',
      'Vue 3, login wall',
      { '/': directus },
      {
        '/': file(directus, 'index.html', (text) => text.replace('<base />', '<base href="/">')),
        '/server/info': json({ data: { project: { project_name: 'Ledger', default_language: 'en-US' } } }),
        '/auth': json({ data: [], disableDefault: false }),
      },
      ['/login'],
    ),
    app(
      'verdaccio',
      'React, list of packages',
      { '/-/static/': verdaccio },
      {
        '/': page(
          `<script>window.__VERDACCIO_BASENAME_UI_OPTIONS = { base: location.origin + '/', title: 'Packages', login: true, primary_color: '#4b5e40', basename: '/' }</script>`,
          `<div id="root"></div>${['runtime.js', 'vendors.js', 'main.js'].map((one) => `<script defer src="/${manifest[one]}"></script>`).join('')}`,
        ),
        '/-/verdaccio/data/packages': json(
          STOCK.map(({ name, left }) => ({
            ...{
              name: name.toLowerCase(),
              version: `${left}.0.0`,
              description: `The lamp ${name}`,
              time: 1.7e12,
            },
            ...{ author: { name: 'Ada' }, keywords: ['lamp'], license: 'MIT', dist: { unpackedSize: 9000 } },
          })),
          300,
        ),
      },
    ),
    app(
      'signal-k',
      'React, dashboard',
      { '/': signalK },
      {
        '/': file(signalK, 'index.html', (text) => text.replace(/%\w+%/g, '')),
        '/skServer/loginStatus': json({
          status: 'notLoggedIn',
          readOnlyAccess: true,
          authenticationRequired: false,
          allowNewUserRegistration: true,
          allowDeviceAccessRequests: true,
        }),
      },
    ),
    {
      ...app(
        'actual',
        'React, workers, WebAssembly, SharedArrayBuffer',
        { '/': actual },
        { '/': file(actual, 'index.html') },
      ),
      headers: {
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-embedder-policy': 'require-corp',
      },
    },
    library(
      'redoc',
      'React, standalone',
      ['redoc'],
      '',
      `<div id="app"></div><script src="/lib/redoc/bundles/redoc.standalone.js"></script>
      <script>Redoc.init('/openapi.json', {}, document.getElementById('app'))</script>`,
    ),
    library(
      'scalar',
      'Vue 3, standalone',
      ['@scalar/api-reference'],
      '',
      `<div id="app"></div>
      <script src="/lib/@scalar/api-reference/dist/browser/standalone.js"></script>
      <script>Scalar.createApiReference('#app', { url: '/openapi.json', withDefaultFonts: false, telemetry: false })</script>`,
    ),
    library(
      'ag-grid',
      'AG Grid, dashboard',
      ['ag-grid-community'],
      '<script src="/lib/ag-grid-community/dist/ag-grid-community.min.js"></script>',
      `<h1>Sales</h1><div id="total"></div><div id="grid" style="height: 400px"></div><div id="small" style="height: 300px"></div>
      <script type="module">
        const rows = await (await fetch('/stock.json')).json()
        document.getElementById('total').textContent = 'Total ' + rows.reduce((sum, { left }) => sum + left, 0)
        const columnDefs = [{ field: 'name', filter: true }, { field: 'left', headerName: 'In stock' }, { field: 'note' }]
        const many = Array.from({ length: 500 }, (_, n) => ({ ...rows[n % rows.length], note: 'row ' + n }))
        agGrid.createGrid(document.getElementById('grid'), { columnDefs, rowData: many })
        agGrid.createGrid(document.getElementById('small'), { columnDefs, rowData: many, pagination: true, paginationPageSize: 20 })
      </script>`,
    ),
    library(
      'leaflet',
      'Leaflet, map with tiles',
      ['leaflet'],
      '<link rel="stylesheet" href="/lib/leaflet/dist/leaflet.css"><script src="/lib/leaflet/dist/leaflet.js"></script>',
      `<h1>Lighthouses</h1><div id="map" style="height: 500px"></div>
      <script>
        const map = L.map('map').setView([54.2, 7.9], 8)
        L.tileLayer('/lib/leaflet/dist/images/layers.png?{z}/{x}/{y}', { attribution: 'Tiles of our own' }).addTo(map)
        fetch('/stock.json').then((answer) => answer.json()).then((all) => all.forEach(({ name, left }, n) => {
          const marker = L.marker([54 + n / 9, 7.9]).addTo(map).bindTooltip(name + ', ' + left + ' metres', { permanent: true })
          if (n === 0) marker.bindPopup('The tallest of all').openPopup()
        }))
      </script>`,
    ),
    library(
      'maplibre',
      'MapLibre, WebGL',
      ['maplibre-gl'],
      '<link rel="stylesheet" href="/lib/maplibre-gl/dist/maplibre-gl.css"><script src="/lib/maplibre-gl/dist/maplibre-gl.js"></script>',
      `<h1>Ferries</h1><div id="map" style="height: 500px"></div><ul id="list"></ul>
      <script>
        const line = { type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates: [[7, 54], [8, 55]] } }
        const style = { version: 8, sources: { way: { type: 'geojson', data: line, attribution: 'Drawn by hand' } },
          layers: [{ id: 'sea', type: 'background', paint: { 'background-color': '#9cf' } }, { id: 'way', type: 'line', source: 'way' }] }
        const map = new maplibregl.Map({ container: 'map', style, center: [7.5, 54.5], zoom: 7 })
        map.addControl(new maplibregl.ScaleControl())
        map.on('load', async () => {
          for (const { name, left } of await (await fetch('/stock.json')).json()) {
            new maplibregl.Popup().setLngLat([7.5, 54 + left / 50]).setText('Ferry ' + name).addTo(map)
            document.getElementById('list').append(Object.assign(document.createElement('li'), { textContent: name + ' sails' }))
          }
        })
      </script>`,
    ),
    library(
      'three',
      'three.js with labels',
      ['three'],
      `<script type="importmap">{ "imports": { "three": "/lib/three/build/three.module.js", "three/": "/lib/three/" } }</script>`,
      `<h1>Planetarium</h1><p id="state">Loading</p>
      <script type="module">
        import * as THREE from 'three'
        import { CSS2DRenderer, CSS2DObject } from 'three/examples/jsm/renderers/CSS2DRenderer.js'
        const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(60, 2, 0.1, 100)
        camera.position.z = 8
        const stars = await (await fetch('/stock.json')).json()
        stars.forEach(({ name }, n) => {
          const mesh = new THREE.Mesh(new THREE.SphereGeometry(0.4), new THREE.MeshBasicMaterial({ color: 0xffcc00 }))
          mesh.position.x = n - 1
          mesh.add(new CSS2DObject(Object.assign(document.createElement('div'), { textContent: 'Star ' + name })))
          scene.add(mesh)
        })
        const labels = new CSS2DRenderer()
        let drawer = null
        try { drawer = new THREE.WebGLRenderer() } catch { document.body.append('No WebGL here') }
        for (const each of [drawer, labels]) if (each) { each.setSize(800, 400); document.body.append(each.domElement) }
        let frames = 0
        const draw = () => {
          drawer?.render(scene, camera)
          labels.render(scene, camera)
          if (++frames === 30) document.getElementById('state').textContent = 'Thirty frames drawn'
          requestAnimationFrame(draw)
        }
        draw()
      </script>`,
    ),
    library(
      'cookie-banner',
      'vanilla-cookieconsent',
      ['vanilla-cookieconsent'],
      '<link rel="stylesheet" href="/lib/vanilla-cookieconsent/dist/cookieconsent.css">',
      `<h1>Bakery</h1><div id="bread"></div><script src="/lib/vanilla-cookieconsent/dist/cookieconsent.umd.js"></script>
      <script>
        CookieConsent.run({ categories: { necessary: { readOnly: true }, analytics: {} }, language: { default: 'en', translations: { en: {
          consentModal: { title: 'Crumbs', description: 'We count them.', acceptAllBtn: 'Take all', acceptNecessaryBtn: 'No thanks' },
          preferencesModal: { title: 'Which crumbs', sections: [] } } } } })
        fetch('/stock.json').then((answer) => answer.json()).then((all) => { bread.textContent = all.map(({ name }) => name + ' loaf').join(', ') })
      </script>`,
    ),
    library(
      'endless-shop',
      'no framework, endless list',
      [],
      '',
      `<h1>Teapots</h1><ul id="list"></ul><p id="end">More</p>
      <script>
        let batch = 0
        const more = async () => {
          const all = await (await fetch('/more.json?page=' + ++batch)).json()
          for (const { name } of all) list.insertAdjacentHTML('beforeend', '<li style="height: 200px">' + name + ' number ' + batch + '</li>')
        }
        new IntersectionObserver(async ([entry]) => { if (entry.isIntersecting) await more() }, { rootMargin: '300px' }).observe(end)
      </script>`,
    ),
    library(
      'locale',
      'no framework, texts by locale',
      [],
      '',
      `<h1 id="hello"></h1><p id="day"></p><p id="price"></p>
      <script type="module">
        const words = { en: 'Good morning', de: 'Guten Morgen', fr: 'Bonjour' }
        const locale = navigator.languages.find((each) => words[each.slice(0, 2)]) ?? 'en'
        document.documentElement.lang = locale
        hello.textContent = words[locale.slice(0, 2)]
        day.textContent = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' }).format(1.7e12)
        price.textContent = new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR' }).format(1234.5)
      </script>`,
    ),
  ]
}

const STOCK = ['Petrel', 'Auk', 'Fulmar'].map((name, at) => ({ name, left: 7 * at + 5 }))
const OPENAPI = {
  ...{ openapi: '3.1.0', info: { title: 'Lamp post', version: '2.1', description: 'Light by request.' } },
  paths: {
    '/lamps/{id}': {
      get: {
        ...{ summary: 'One lamp', operationId: 'lamp', tags: ['Lamps'] },
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
        responses: {
          200: {
            description: 'It is lit',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: { watts: { type: 'number', description: 'How bright' } },
                },
              },
            },
          },
        },
      },
    },
  },
}

function page(head: string, body: string): Answer {
  return html(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title>${head}</head><body>${body}</body></html>`,
  )
}

function file(folder: string, name: string, change = (text: string) => text): Answer {
  return html(change(readFileSync(path.join(folder, name), 'utf8')))
}
