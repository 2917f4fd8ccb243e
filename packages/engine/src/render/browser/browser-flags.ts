export function browserFlags(options: {
  userDataDir: string
  sandbox: boolean
  /** base64 SHA-256 of the gateway's public key; null in tests without TLS. */
  spkiHash: string | null
  drawsPages: boolean
}): string[] {
  const { userDataDir, sandbox, spkiHash, drawsPages } = options
  const flags = [
    '--headless',
    // Not a port: pages cannot find the debugger.
    '--remote-debugging-pipe',
    `--user-data-dir=${userDataDir}`,
  ]
  if (!sandbox) flags.push('--no-sandbox')
  if (spkiHash !== null) flags.push(`--ignore-certificate-errors-spki-list=${spkiHash}`)
  // in-page/images.js reports images as loaded instead. `data:` images still load.
  const settings = drawsPages ? MOUSE : `${MOUSE},loadsImagesAutomatically=false`
  flags.push(`--blink-settings=${settings}`)
  if (!drawsPages) flags.push(...WITHOUT_PICTURE)
  flags.push(...FIXED, 'about:blank')
  return flags
}

/** A mouse, which a machine without one lacks: fine pointer 4, hover 2. Emulated phones have their own. */
const MOUSE = 'primaryPointerType=4,availablePointerTypes=4,primaryHoverType=2,availableHoverTypes=2'

const WITHOUT_PICTURE = [
  // Draws frames only on request, which saves a third of a page's processor time. Headless shell only.
  '--enable-begin-frame-control',
  '--run-all-compositor-stages-before-draw',
]

const FIXED = [
  // Each context has its own proxy. A context without one ends at a closed port.
  '--proxy-server=http://127.0.0.1:9',
  // Sends loopback requests through the proxy too, unlike Chromium's default.
  '--proxy-bypass-list=<-loopback>',
  // Resolves no names in the browser, not even for prefetch or over HTTPS.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--disable-quic',
  // The headless shell obeys one spelling, Chromium the other. Both leaked without it.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--no-pings',
  '--disable-dns-prefetch',

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

  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-hang-monitor',
  // Not --disable-ipc-flooding-protection: a page that keeps rewriting its address would block all other pages.
  '--disable-back-forward-cache',
  '--disable-prompt-on-repost',
  '--disable-blink-features=AutomationControlled',
  '--js-flags=--max-old-space-size=1024',
  '--block-new-web-contents',
  '--allow-pre-commit-input',

  // Frames of other sites share the page's process and its clock. A context serves one domain and holds no secret.
  '--disable-site-isolation-trials',
  `--disable-features=${[
    'IsolateOrigins',
    'site-per-process',
    // A page that races two navigations would end the browser (docs/decisions/0020-navigation-races.md).
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
    // Two pages of the browser's own for each window: opening a tab took four times as long.
    'WebUIOmniboxAimPopup',
    'WebUIOmniboxPopup',
  ].join(',')}`,

  '--disable-gpu',
  '--disable-lcd-text',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--force-device-scale-factor=1',
  '--hide-scrollbars',
  '--mute-audio',
  '--disable-dev-shm-usage',
  '--window-size=1280,1024',
  // For workers, which page overrides do not reach.
  '--accept-lang=en-US,en',
]
