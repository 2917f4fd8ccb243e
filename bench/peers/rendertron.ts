import { installedPeer } from '../../test/support/installed-peer.ts'
import { getRaw, startPeer } from './peer-process.ts'
import type { GivenBrowser, Service, Site } from './service.ts'

export async function startRendertron(site: Site, browser: GivenBrowser, home: string): Promise<Service> {
  const manifest = installedPeer('rendertron').require('rendertron/package.json') as { version: string }
  const peer = await startPeer('rendertron-main.ts', browser, home)
  return {
    name: 'rendertron',
    version: manifest.version,
    pid: peer.pid,
    render: async (path) => {
      const target = `/render/${encodeURIComponent(site.originUrl + path)}`
      return { ...(await getRaw(peer.url, target)), fresh: true }
    },
    close: peer.close,
  }
}
