/** Where a browser's traffic goes and whose certificate it takes for a custom domain's. */
type BrowserNetwork = {
  /** base64 SHA-256 of the gateway's public key; null in tests that need no TLS. */
  spkiHash: string | null
}

/**
 * The whole command line. Three groups: what closes ways out, what keeps the
 * browser from doing work of its own, and what makes renders alike everywhere.
 */
export function browserFlags(options: {
  userDataDir: string
  sandbox: boolean
  network: BrowserNetwork
  /** It draws its pages and loads their pictures, for somebody who looks at them; see `createInspector`. */
  drawsPages?: boolean
}): string[] {
  const { network, drawsPages = false } = options
  return [
    '--headless',
    // A pipe, never a port: no page can find the debugger.
    '--remote-debugging-pipe',
    `--user-data-dir=${options.userDataDir}`,
    ...(options.sandbox ? [] : ['--no-sandbox']),

    // Ways out. Every context has its own proxy; whatever forgets to name one ends here, at a closed port.
    '--proxy-server=http://127.0.0.1:9',
    // Loopback goes through the proxy like everything else (Chromium's default is to go around it).
    '--proxy-bypass-list=<-loopback>',
    // No names are resolved in the browser: not for prefetch, not over https.
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--disable-quic',
    // Two spellings: the headless shell obeys one, Chromium the other. Both were seen to leak without it.
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--no-pings',
    '--disable-dns-prefetch',
    ...(network.spkiHash === null ? [] : [`--ignore-certificate-errors-spki-list=${network.spkiHash}`]),

    // No work and no traffic of its own.
    '--disable-background-networking',
    '--disable-breakpad',
    '--disable-crash-reporter',
    '--disable-client-side-phishing-detection',
    '--disable-component-extensions-with-background-pages',
    '--disable-component-update',
    '--disable-default-apps',
    '--disable-domain-reliability',
    '--disable-extensions',
    '--disable-field-trial-config',
    '--disable-infobars',
    '--disable-sync',
    '--disable-search-engine-choice-screen',
    '--no-default-browser-check',
    '--no-first-run',
    '--no-service-autorun',
    '--metrics-recording-only',
    '--password-store=basic',
    '--use-mock-keychain',
    '--export-tagged-pdf=false',

    // A page in the background is still a page: it keeps its timers and its priority.
    '--disable-background-timer-throttling',
    '--disable-backgrounding-occluded-windows',
    '--disable-renderer-backgrounding',
    '--disable-hang-monitor',
    // Not --disable-ipc-flooding-protection: a page that writes its address without end would keep the browser's own process
    // from all its other pages, as it keeps a visitor's.
    '--disable-back-forward-cache',
    '--disable-prompt-on-repost',
    // Images are reported as loaded by in-page/images.js instead; `data:` images still are.
    ...(drawsPages ? [] : ['--blink-settings=loadsImagesAutomatically=false']),
    // `navigator.webdriver` is false, as with a visitor.
    '--disable-blink-features=AutomationControlled',
    // A page that hoards memory dies of it in a second or two, long before the machine does.
    '--js-flags=--max-old-space-size=1024',
    '--disable-popup-blocking',
    '--block-new-web-contents',
    '--allow-pre-commit-input',
    // Nobody looks: frames are drawn when asked for, which is never. A third of a page's processor time.
    // Headless shell only, others ignore it.
    ...(drawsPages ? [] : ['--enable-begin-frame-control', '--run-all-compositor-stages-before-draw']),

    // Frames of other sites stay in the page's process, so that one clock rules the
    // whole page and no process is started for each. A context serves one domain
    // only and holds no secret, so there is nothing that isolation would keep apart.
    '--disable-site-isolation-trials',
    `--disable-features=${[
      'IsolateOrigins',
      'site-per-process',
      // Else each site is kept apart inside the one process, frames change hosts when they navigate, and a page
      // that races two navigations of one frame ends the browser (docs/decisions/0020-navigation-races.md).
      'DefaultSiteInstanceGroups',
      'SiteInstanceGroupsForDataUrls',
      'BackForwardCache',
      'AcceptCHFrame',
      'AutofillServerCommunication',
      'DialMediaRouteProvider',
      'GlobalMediaControls',
      'HttpsUpgrades',
      'InterestFeedContentSuggestions',
      'MediaRouter',
      'OptimizationHints',
      'PaintHolding',
      'ProcessPerSiteUpToMainFrameThreshold',
      'RenderDocument',
      'SpareRendererForSitePerProcess',
      'Translate',
    ].join(',')}`,

    // Renders alike everywhere.
    '--disable-gpu',
    '--disable-lcd-text',
    '--font-render-hinting=none',
    '--force-color-profile=srgb',
    '--force-device-scale-factor=1',
    '--hide-scrollbars',
    '--mute-audio',
    '--disable-dev-shm-usage',
    '--window-size=1280,1024',
    // What workers see, which no override of a page reaches.
    '--accept-lang=en-US,en',
    'about:blank',
  ]
}
