import { installedPeer } from '../../test/support/installed-peer.ts'
import { endWithParent, type PeerOptions } from './peer-process.ts'

type LaunchOptions = Record<string, unknown>
type Puppeteer = { launch(options: LaunchOptions): Promise<unknown> }
type Rendertron = new () => { initialize(config: Record<string, unknown>): Promise<unknown> }
type Configured = { ConfigManager: { config: Record<string, unknown> } }

const { port, executable } = JSON.parse(process.argv[2]!) as PeerOptions
const { require } = installedPeer('rendertron')
endWithParent()

// It launches the browser that puppeteer downloaded at its installation. There
// is none here, for install scripts are not run: it has to be told one.
const puppeteer = require('puppeteer') as Puppeteer
const launch = puppeteer.launch.bind(puppeteer)
puppeteer.launch = (options) => launch({ ...options, executablePath: executable })

const { Rendertron } = require('rendertron') as { Rendertron: Rendertron }
const { ConfigManager } = require('rendertron/build/config') as Configured
await new Rendertron().initialize({ ...ConfigManager.config, port: String(port), host: '127.0.0.1' })
