/** The files of the guides, as tests run them. */
const TEXTS: Record<string, string> = import.meta.glob(
  ['../../../../examples/integrations/*', '!../../../../examples/integrations/*.test.ts'],
  { query: '?raw', import: 'default', eager: true },
)

function textOf(example: string): string {
  const text = TEXTS[`../../../../examples/integrations/${example}`]
  if (text === undefined) throw new Error(`No guide has the file ${example}`)
  return text
}

export type FrontGuide = {
  name: string
  /** The file of the site that gets the text. `DOMAIN` stands for the name of the site. */
  file: string
  /** The folder of a server that listens on port 80 with this file alone. */
  place?: string
  text: string
  /** `proxy`: it passes requests to the edge, without a key. */
  way: 'middleware' | 'proxy'
  /** A program asks for the URL of the API; a server for host and port. */
  kind: 'server' | 'program'
  /** The page of docs/integrations/. */
  page: string
}

const server = { way: 'middleware', kind: 'server' } as const
const passing = { way: 'proxy', kind: 'server' } as const
const program = { way: 'middleware', kind: 'program' } as const

export const FRONT_GROUPS: readonly { title: string; guides: readonly FrontGuide[] }[] = [
  {
    title: 'Web servers',
    guides: [
      {
        ...server,
        name: 'nginx',
        file: 'prepaint-DOMAIN.conf',
        place: '/etc/nginx/conf.d/',
        text: textOf('nginx.conf'),
        page: 'nginx',
      },
      { ...server, name: 'Apache httpd', file: 'apache.conf', text: textOf('apache.conf'), page: 'apache' },
      { ...passing, name: 'HAProxy', file: 'haproxy.cfg', text: textOf('haproxy.cfg'), page: 'haproxy' },
      { ...passing, name: 'Caddy', file: 'Caddyfile', text: textOf('Caddyfile'), page: 'caddy' },
      { ...passing, name: 'Varnish', file: 'varnish.vcl', text: textOf('varnish.vcl'), page: 'varnish' },
    ],
  },
  {
    title: 'Node.js',
    guides: [
      { ...program, name: 'Express', file: 'express.mjs', text: textOf('express.mjs'), page: 'express' },
      {
        ...program,
        name: 'prerender-node',
        file: 'express-prerender-node.mjs',
        text: textOf('express-prerender-node.mjs'),
        page: 'express',
      },
      { ...program, name: 'Fastify', file: 'fastify.mjs', text: textOf('fastify.mjs'), page: 'fastify' },
      { ...program, name: 'Koa', file: 'koa.mjs', text: textOf('koa.mjs'), page: 'koa' },
      { ...program, name: 'Hono', file: 'hono.mjs', text: textOf('hono.mjs'), page: 'hono' },
      { ...program, name: 'Next.js', file: 'proxy.ts', text: textOf('next-proxy.ts'), page: 'nextjs' },
      {
        ...program,
        name: 'Nuxt',
        file: 'server/middleware/prepaint.ts',
        text: textOf('nitro-middleware.ts'),
        page: 'nuxt',
      },
      {
        ...program,
        name: 'Vite preview',
        file: 'vite.config.mjs',
        text: textOf('vite.config.mjs'),
        page: 'vite',
      },
    ],
  },
  {
    title: 'Other applications',
    guides: [
      {
        ...server,
        name: 'Django',
        file: 'django_prepaint.py',
        text: textOf('django_prepaint.py'),
        page: 'django',
      },
      {
        ...server,
        name: 'Rails',
        file: 'lib/rack_prepaint.rb',
        text: textOf('rack_prepaint.rb'),
        page: 'rails',
      },
    ],
  },
  {
    title: 'Platforms',
    guides: [
      {
        ...program,
        name: 'Cloudflare Worker',
        file: 'cloudflare-worker.mjs',
        text: textOf('cloudflare-worker.mjs'),
        page: 'cloudflare-worker',
      },
      {
        ...program,
        name: 'Vercel',
        file: 'middleware.js',
        text: textOf('vercel-middleware.mjs'),
        page: 'vercel',
      },
      {
        ...program,
        name: 'Netlify',
        file: 'netlify/edge-functions/prepaint.mjs',
        text: textOf('netlify-edge-function.mjs'),
        page: 'netlify',
      },
      {
        ...server,
        name: 'CloudFront',
        file: 'cloudfront.js',
        text: textOf('cloudfront.js'),
        page: 'cloudfront',
      },
    ],
  },
]
