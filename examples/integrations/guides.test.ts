/** What every guide has, so that a reader finds it at the same place. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

const ROOT = path.resolve(import.meta.dirname, '../..')
const DOCS = path.join(ROOT, 'docs/integrations')
const guides = readdirSync(DOCS).filter((file) => file !== 'README.md')
const list = readFileSync(path.join(DOCS, 'README.md'), 'utf8')

const GUIDES =
  'nginx apache haproxy varnish caddy express fastify koa hono nextjs nuxt vite cloudflare-worker vercel netlify cloudfront django rails'

it('there is a guide for each front', () => {
  const wanted = GUIDES.split(' ').map((name) => `${name}.md`)
  assert.deepEqual(guides.sort(), wanted.sort())
})

for (const guide of guides) {
  describe(guide, () => {
    const text = readFileSync(path.join(DOCS, guide), 'utf8')
    const partOf = (title: string) =>
      new RegExp(`^## ${title}\n\n(.*?)(?=^## |(?![^]))`, 'ms').exec(text)?.[1] ?? ''

    it('is in the list, and names files that are there', () => {
      assert(list.includes(`](${guide})`))
      const files = [...text.matchAll(/`(examples\/integrations\/[\w.-]+)`/g)].map(([, file]) => file!)
      assert(files.some((file) => !file.includes('.test.')))
      assert(files.some((file) => file.endsWith('.long.test.ts')))
      for (const file of files) assert(existsSync(path.join(ROOT, file)), file)
    })

    it('begins with the commands from nothing to the change', () => {
      const commands = /^```sh\n(.*?)```/s.exec(partOf('Before you begin'))?.[1] ?? ''
      const wanted = [
        'prepaint domain add --email',
        "prepaint domain set --domain www.example.com --settings '{",
      ]
      const files = [...text.matchAll(/`(examples\/integrations\/[\w.-]+)`/g)].map(([, file]) => file!)
      const [example = ''] = files.filter((file) => !file.includes('.test.'))
      const read = readFileSync(path.join(ROOT, example), 'utf8')
      if (/pp_site_TOKEN|PREPAINT_KEY/.test(read)) wanted.push('prepaint site-token create --domain')
      if (read.includes('@prepaint/middleware')) wanted.push('npm install @prepaint/middleware')
      for (const command of wanted) assert(commands.includes(command), command)
      assert.match(text, /^## The change/m)
    })

    it('ends its proof with a check, says in a table what happens without Prepaint, and names its limits', () => {
      assert.match(
        partOf('See that it works'),
        /\nprepaint integration check --domain www\.example\.com .*\n```\n\n*$/,
      )
      assert.match(
        partOf('When Prepaint is away'),
        /^\| what happens \| crawlers get \|\n\|---\|---\|\n(\| .* \|\n){3}/,
      )
      assert.notEqual(partOf('Limits').trim(), '')
    })
  })
}
