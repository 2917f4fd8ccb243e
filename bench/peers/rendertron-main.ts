import { installedPeer } from '../../test/support/installed-peer.ts'
import { endWithParent, type PeerOptions } from './peer-process.ts'

type LaunchOptions = Record<string, unknown>
type Puppeteer = { launch(options: LaunchOptions): Promise<unknown> }
type Rendertron = new () => { initialize(config: Record<string, unknown>): Promise<unknown> }
type Configured = { ConfigManager: { config: Record<string, unknown> } }

const { port, executable } = JSON.parse(process.argv[2]!) as PeerOptions
const { require } = installedPeer('rendertron')
endWithParent()

// Install scripts are not run, so puppeteer has no downloaded browser.
const puppeteer = require('puppeteer') as Puppeteer
const launch = puppeteer.launch.bind(puppeteer)
puppeteer.launch = (options) => launch({ ...options, executablePath: executable })

const { Rendertron } = require('rendertron') as { Rendertron: Rendertron }
const { ConfigManager } = require('rendertron/build/config') as Configured
await new Rendertron().initialize({ ...ConfigManager.config, port: String(port), host: '127.0.0.1' })
