/** The configurations of web servers, and the middlewares of Django and Rails, each in its real program before a real node. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { userInfo } from 'node:os'
import path from 'node:path'
import { it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import {
  FrontTests,
  type Promised,
  SERVER_MOODS,
  type Site,
  SPA,
  type Ways,
} from '../../test/support/front-tests.ts'
import { freePort, serve } from '../../test/support/loopback.ts'
import { hasNginx, startNginx } from '../../test/support/nginx.ts'
import { hasProgram } from '../../test/support/program.ts'

const fronts = new FrontTests()
const hasRuby = hasProgram('puma', 'puma')
const here = (file: string) => path.join(import.meta.dirname, file)

type Running = { close(): Promise<void> }

type ServerGuide = {
  file: string
  /** What stands in the file for its own port, and what takes its place. Of Varnish, the program is told. */
  listens: (port: number, host: string) => readonly (readonly [from: string, to: string])[]
  /** It answers for its own name only, and cannot be its own origin. */
  isStrict?: boolean
  promised: Promised
  start(port: number, configuration: string): Promise<Running>
}

const middleware: Promised = { moods: SERVER_MOODS }
const proxy: Promised = {
  way: 'proxy',
  moods: SERVER_MOODS.filter((mood) => typeof mood !== 'number' || mood >= 500),
}

const GUIDES: ServerGuide[] = []
if (hasNginx) {
  GUIDES.push({
    file: 'nginx.conf',
    promised: middleware,
    listens: (port) => [['listen 80;', `listen 127.0.0.1:${port};`]],
    start: startNginx,
  })
}
if (hasProgram('apache2', 'apache2')) {
  GUIDES.push({
    file: 'apache.conf',
    promised: {
      moods: SERVER_MOODS.filter((mood) => typeof mood !== 'number' || mood >= 500),
      limits: { opensLater: true },
    },
    listens: (port) => [
      ['Listen 80', `Listen 127.0.0.1:${port}`],
      ['<VirtualHost *:80>', `<VirtualHost *:${port}>`],
    ],
    start: startApache,
  })
}
if (hasProgram('haproxy', 'haproxy')) {
  GUIDES.push({
    file: 'haproxy.cfg',
    promised: { ...proxy, limits: { byStatus: true } },
    listens: (port) => [['bind :80', `bind 127.0.0.1:${port}`]],
    start: startServer((file) => ['haproxy', '-db', '-f', file]),
  })
}
if (hasProgram('caddy', 'caddy')) {
  GUIDES.push({
    file: 'Caddyfile',
    promised: proxy,
    isStrict: true,
    listens: (port, host) => [[`http://${host} {`, `http://${host}:${port} {\n\tbind 127.0.0.1`]],
    start: startServer((file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file]),
  })
}
if (hasProgram('varnishd', 'varnish')) {
  GUIDES.push({
    file: 'varnish.vcl',
    promised: proxy,
    listens: () => [],
    start: startServer((file, port) => [
      'varnishd',
      '-F',
      // Without it, a user that may not read this folder compiles the file.
      ...['-j', 'none'],
      ...['-n', path.join(path.dirname(file), 'v')],
      ...['-a', `127.0.0.1:${port}`],
      ...['-f', file],
      ...['-s', 'malloc,16m'],
    ]),
  })
}

fronts.guides(() => {
  for (const server of GUIDES) {
    fronts.guide(server.file, (ways) => startSite(server, ways), server.promised)
  }
  if (hasProgram('gunicorn', 'gunicorn python3-django')) {
    fronts.guide('django_prepaint.py', startDjango, { moods: [...SERVER_MOODS, 'half'] })
  }
  if (hasRuby && hasProgram('rails', 'ruby-railties')) {
    const start = (ways: Ways) => startPuma('rails.example.com', RAILS_SITE, ways)
    fronts.guide('rack_prepaint.rb, in an application of Rails', start, { moods: [...SERVER_MOODS, 'half'] })
  }
})

async function startSite(
  { file, listens, isStrict = false, start }: ServerGuide,
  { api, edge }: Ways,
): Promise<Site> {
  const host = `${file.split('.')[0]!.toLowerCase()}.example.com`
  const app = await serve((_req, res) => res.end(SPA))
  const port = await freePort()
  let text = readFileSync(here(file), 'utf8')
  const change = (from: string, to: string) => {
    assert(text.includes(from), from)
    text = text.replaceAll(from, to)
  }
  const ports = { 3000: api.port, 8080: edge.port, 8000: app.port }
  for (const [from, to] of Object.entries(ports)) {
    if (from === '8000' || text.includes(`127.0.0.1:${from}`)) change(`127.0.0.1:${from}`, `127.0.0.1:${to}`)
  }
  for (const [from, to] of [
    ['www.example.com', host],
    ['pp_site_TOKEN', fronts.key],
  ] as const) {
    if (text.includes(from)) change(from, to)
  }
  for (const [from, to] of listens(port, host)) change(from, to)
  const server = await start(port, text)
  fronts.closing.push(app.close, server.close)
  return isStrict ? { host, port, origin: app.port } : { host, port }
}

function startServer(command: (file: string, port: number) => string[]): ServerGuide['start'] {
  return async (port, configuration) => {
    const file = path.join(fronts.folder(), 'configuration')
    writeFileSync(file, configuration)
    return startProgram(port, command(file, port))
  }
}

/** Loads the modules that the file names, beside what every server needs. */
function startApache(port: number, configuration: string): Promise<Running> {
  const dir = fronts.folder()
  const modules = '/usr/lib/apache2/modules'
  const named = [...configuration.matchAll(/^# LoadModule (\w+) \S*\/(mod_\w+\.so)$/gm)]
  const needed = [
    ['mpm_event_module', 'mod_mpm_event.so'],
    ['authz_core_module', 'mod_authz_core.so'],
  ]
  for (const [, name = '', file = ''] of named) needed.push([name, file])
  const file = path.join(dir, 'apache2.conf')
  writeFileSync(
    file,
    `ServerRoot "${dir}"
DefaultRuntimeDir "${dir}"
PidFile "${dir}/pid"
ErrorLog "${dir}/error.log"
ServerName localhost
User ${serverUser()}
${needed.map(([name, module]) => `LoadModule ${name} ${modules}/${module}`).join('\n')}
${configuration}`,
  )
  return startProgram(port, ['apache2', '-X', '-f', file])
}

/** Apache serves nothing as root. */
function serverUser(): string {
  const { uid, username } = userInfo()
  return uid === 0 ? 'www-data' : username
}

async function startProgram(
  port: number,
  command: string[],
  env = process.env,
  cwd?: string,
): Promise<Running> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env, cwd })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part) => {
      said += part
    })
  }
  const ended = once(child, 'exit')
  const close = async () => {
    child.kill()
    await ended
  }
  const listens = until(`${program} listens`, async () => {
    if (child.exitCode !== null) throw new Error(said)
    const socket = net.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket.destroy()
  })
  await listens.catch(async (cause) => {
    await close()
    throw new Error(said, { cause })
  })
  return { close }
}

async function startDjango(ways: Ways): Promise<Site> {
  const host = 'django.example.com'
  const dir = fronts.folder()
  copyFileSync(here('django_prepaint.py'), path.join(dir, 'django_prepaint.py'))
  writeFileSync(path.join(dir, 'site_app.py'), DJANGO_SITE)
  const port = await freePort()
  const env = { ...fronts.environment(host, ways), PREPAINT_API: `127.0.0.1:${ways.api.port}` }
  // The renderer comes back through it while a crawler waits.
  const command = ['gunicorn', '--bind', `127.0.0.1:${port}`, '--threads', '4', 'site_app:application']
  const server = await startProgram(port, command, env, dir)
  fronts.closing.push(server.close)
  return { host, port }
}

const DJANGO_SITE = `
import os
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import re_path
with open(os.path.join(os.environ["SITE_DIR"], "index.html")) as file:
    INDEX = file.read()
settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="a key of the test",
    MIDDLEWARE=["django_prepaint.Prepaint"],
    PREPAINT={"API": os.environ["PREPAINT_API"], "KEY": os.environ["PREPAINT_KEY"], "SITE": os.environ["SITE"]},
)
urlpatterns = [re_path("", lambda request: HttpResponse(INDEX))]
application = get_wsgi_application()
`

/** Starts Puma in a folder that has `config.ru` and the middleware in `lib/`. */
async function startPuma(host: string, files: Record<string, string>, ways: Ways): Promise<Site> {
  const dir = fronts.folder()
  mkdirSync(path.join(dir, 'lib'))
  copyFileSync(here('rack_prepaint.rb'), path.join(dir, 'lib/rack_prepaint.rb'))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(dir, file)), { recursive: true })
    writeFileSync(path.join(dir, file), text)
  }
  const port = await freePort()
  const env = {
    ...fronts.environment(host, ways),
    PREPAINT_API: `127.0.0.1:${ways.api.port}`,
    RACK_ENV: 'production',
    RAILS_ENV: 'production',
  }
  // The renderer comes back through it while a crawler waits.
  const command = ['puma', '--bind', `tcp://127.0.0.1:${port}`, '--threads', '4:4', 'config.ru']
  const server = await startProgram(port, command, env, dir)
  fronts.closing.push(server.close)
  return { host, port }
}

/** As `rails new` lays it out, with what the guide adds. */
const RAILS_SITE = {
  'config.ru': `
require_relative 'config/application'
Rails.application.initialize!
run Rails.application
`,
  'config/application.rb': `
require 'logger'
require 'rails'
require 'action_controller/railtie'
require_relative '../lib/rack_prepaint'

class SiteApp < Rails::Application
  config.load_defaults 6.1
  config.eager_load = true
  config.secret_key_base = 'a key of the test'
  config.session_store :cookie_store, key: 'session'
  config.middleware.insert_before 0, Prepaint
end
`,
  'config/routes.rb': `
Rails.application.routes.draw do
  root to: 'site#show', via: :all
  match '*path', to: 'site#show', via: :all, format: false
end
`,
  'app/controllers/site_controller.rb': `
class SiteController < ActionController::Base
  skip_forgery_protection
  INDEX = File.read(File.join(ENV.fetch('SITE_DIR'), 'index.html'))

  def show
    render html: INDEX.html_safe
  end
end
`,
}

if (hasRuby) {
  it('rack_prepaint.rb, in an application on Rack alone: crawlers get the page, people the app', async () => {
    const ways = await fronts.openWays()
    await fronts.assertWorks(await startPuma('rack.example.com', { 'config.ru': RACK_SITE }, ways))
  })
}

const RACK_SITE = `
require_relative 'lib/rack_prepaint'
index = File.read(File.join(ENV.fetch('SITE_DIR'), 'index.html'))
use Prepaint
run ->(_env) { [200, { 'Content-Type' => 'text/html' }, [index]] }
`
