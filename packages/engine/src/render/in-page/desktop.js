// What a browser with a window has beside the platform, and the headless shell has not: a viewer of PDF, a keyboard, `chrome`.
{
  const { navigator, Plugin, PluginArray, MimeType, MimeTypeArray } = window
  // HTML, "PDF viewing support": these names, whatever the viewer is called.
  const VIEWERS = [
    'PDF Viewer',
    'Chrome PDF Viewer',
    'Chromium PDF Viewer',
    'Microsoft Edge PDF Viewer',
    'WebKit built-in PDF',
  ]
  const description = 'Portable Document Format'

  /** @template {object} Class @param {Class} prototype @param {Record<string, unknown>} properties */
  const plain = (prototype, properties) => objectOf(prototype, properties, /** @type {never} */ ({}))
  /** @param {object} prototype @param {any[]} items @param {string} key @param {Record<string, unknown>} [more] */
  const arrayOf = (prototype, items, key, more = {}) => {
    const named = Object.fromEntries(items.map((item) => [item[key], item]))
    return plain(prototype, {
      ...more,
      ...named,
      ...items,
      length: items.length,
      item: (/** @type {number} */ at) => items[at] ?? null,
      namedItem: (/** @type {string} */ name) => named[name] ?? null,
    })
  }
  const makeViewer = () => {
    const types = ['application/pdf', 'text/pdf'].map((type) =>
      plain(MimeType.prototype, { type, suffixes: 'pdf', description, enabledPlugin: null }),
    )
    const plugins = VIEWERS.map((name) =>
      arrayOf(Plugin.prototype, types, 'type', { name, filename: 'internal-pdf-viewer', description }),
    )
    for (const type of types) Object.defineProperty(type, 'enabledPlugin', { value: plugins[0] })
    return {
      plugins: arrayOf(PluginArray.prototype, plugins, 'name', { refresh() {} }),
      mimeTypes: arrayOf(MimeTypeArray.prototype, types, 'type'),
    }
  }
  // Phones have none.
  if (!navigator.pdfViewerEnabled && navigator.maxTouchPoints === 0) {
    /** @type {ReturnType<typeof makeViewer> | null} */
    let made = null
    const viewer = () => {
      made ??= makeViewer()
      return made
    }
    intercept(Navigator.prototype, 'pdfViewerEnabled', () => true)
    intercept(Navigator.prototype, 'plugins', () => viewer().plugins)
    intercept(Navigator.prototype, 'mimeTypes', () => viewer().mimeTypes)
  }

  const KEYS = 'abcdefghijklmnopqrstuvwxyz0123456789'
  intercept(Reflect.get(window, 'Keyboard')?.prototype, 'getLayoutMap', (native, self, given) =>
    then.call(apply(native, self, given), (/** @type {Map<string, string>} */ layout) => {
      if (layout.size > 0) return layout
      const codeOf = (/** @type {string} */ key) =>
        /\d/.test(key) ? `Digit${key}` : `Key${key.toUpperCase()}`
      return new Map([...KEYS].map((key) => [codeOf(key), key]))
    }),
  )

  if (!('chrome' in window) && window === window.top) {
    const timing = () => performance.timing
    const chrome = {
      app: { isInstalled: false, InstallState: {}, RunningState: {} },
      csi: () => ({
        startE: timing().navigationStart,
        onloadT: timing().loadEventEnd,
        pageT: now(),
        tran: 15,
      }),
      loadTimes: () => ({
        requestTime: timing().navigationStart / 1000,
        startLoadTime: timing().navigationStart / 1000,
        finishLoadTime: timing().loadEventEnd / 1000,
        navigationType: 'Other',
        wasFetchedViaSpdy: true,
        wasNpnNegotiated: true,
        npnNegotiatedProtocol: 'h2',
        connectionInfo: 'h2',
      }),
    }
    Object.defineProperty(window, 'chrome', {
      value: chrome,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
}
