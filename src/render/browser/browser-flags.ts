/**
 * The whole command line. The fixed flags close ways out, keep the browser from work of its own, and make renders alike
 * everywhere.
 */
export function browserFlags(options: {
  userDataDir: string
  sandbox: boolean
  /** base64 SHA-256 of the gateway's public key; null in tests that need no TLS. */
  spkiHash: string | null
  /** It draws its pages and loads their images, for inspections. */
  drawsPages: boolean
}): string[] {
  const { userDataDir, sandbox, spkiHash, drawsPages } = options
  return [
    '--headless',
    // A pipe, never a port: no page can find the debugger.
    '--remote-debugging-pipe',
    `--user-data-dir=${userDataDir}`,
    ...(sandbox ? [] : ['--no-sandbox']),
    ...(spkiHash === null ? [] : [`--ignore-certificate-errors-spki-list=${spkiHash}`]),
    ...(drawsPages ? [] : WITHOUT_PICTURE),
    ...FIXED,
    'about:blank',
  ]
}

const WITHOUT_PICTURE = [
  // Images are reported as loaded by in-page/images.js instead; `data:` images still are.
  '--blink-settings=loadsImagesAutomatically=false',
  // Frames are drawn only on request, which saves a third of a page's processor time. Headless shell only.
  '--enable-begin-frame-control',
  '--run-all-compositor-stages-before-draw',
]

const FIXED = [
  // Ways out. Every context has its own proxy; a context without one ends here, at a closed port.
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

  // Pages in the background keep their timers and their priority.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-hang-monitor',
  // Not --disable-ipc-flooding-protection: a page that rewrites its address without end would block all other pages.
  '--disable-back-forward-cache',
  '--disable-prompt-on-repost',
  // `navigator.webdriver` is false, as with a visitor.
  '--disable-blink-features=AutomationControlled',
  // A page that hoards memory dies in a second or two.
  '--js-flags=--max-old-space-size=1024',
  '--disable-popup-blocking',
  '--block-new-web-contents',
  '--allow-pre-commit-input',

  // Frames of other sites stay in the page's process: one clock for the whole page, and no process for each frame.
  // A context serves one domain and holds no secret, so there is nothing to isolate.
  '--disable-site-isolation-trials',
  `--disable-features=${[
    'IsolateOrigins',
    'site-per-process',
    // With them, a page that races two navigations of one frame ends the browser
    // (docs/decisions/0020-navigation-races.md).
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
  // For workers, which no override of a page reaches.
  '--accept-lang=en-US,en',
]
