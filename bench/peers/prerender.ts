import manifest from 'prerender/package.json' with { type: 'json' }

import { getRaw, startPeer } from './peer-process.ts'
import type { GivenBrowser, Service, Site } from './service.ts'

export async function startPrerender(site: Site, browser: GivenBrowser, home: string): Promise<Service> {
  const peer = await startPeer('prerender-main.ts', browser, home)
  return {
    name: 'prerender',
    version: manifest.version,
    pid: peer.pid,
    render: async (path) => ({ ...(await getRaw(peer.url, `/${site.originUrl}${path}`)), fresh: true }),
    close: peer.close,
  }
}
