// A service worker would outlive the render and answer the next one. The page sees one that was registered and controls nothing yet.
if ('ServiceWorkerContainer' in window) {
  const { ServiceWorkerContainer, ServiceWorkerRegistration, ServiceWorker, DOMException, URL } = window

  const refused = () =>
    Promise.reject(new DOMException('Registration failed - permission denied', 'NotAllowedError'))

  /** @type {Map<string, ServiceWorkerRegistration>} */
  const registrations = new Map()
  /** @param {string} script @param {string} scope @param {string} updateViaCache */
  const registrationOf = (script, scope, updateViaCache) => {
    const worker = { scriptURL: script, state: 'activated', onstatechange: null, onerror: null }
    const active = objectOf(ServiceWorker.prototype, { ...worker, postMessage() {} })
    /** @type {ServiceWorkerRegistration} */
    const registration = objectOf(ServiceWorkerRegistration.prototype, {
      active,
      installing: null,
      waiting: null,
      scope,
      updateViaCache,
      onupdatefound: null,
      navigationPreload: {
        enable: () => Promise.resolve(),
        disable: () => Promise.resolve(),
        setHeaderValue: () => Promise.resolve(),
        getState: () => Promise.resolve({ enabled: false, headerValue: 'true' }),
      },
      pushManager: {
        getSubscription: () => Promise.resolve(null),
        permissionState: () => Promise.resolve('denied'),
        subscribe: refused,
      },
      sync: { register: () => Promise.resolve(), getTags: () => Promise.resolve([]) },
      periodicSync: {
        register: refused,
        unregister: () => Promise.resolve(),
        getTags: () => Promise.resolve([]),
      },
      update: () => Promise.resolve(registration),
      unregister: () => Promise.resolve(registrations.delete(scope)),
      getNotifications: () => Promise.resolve([]),
      showNotification: () => Promise.reject(new TypeError('No notification permission has been granted')),
    })
    return registration
  }

  /** @type {(registration: ServiceWorkerRegistration) => void} */
  let becomeReady
  /** @type {Promise<ServiceWorkerRegistration>} */
  const ready = new Promise((resolve) => {
    becomeReady = resolve
  })
  const page = location.href
  /** @param {unknown} address */
  const here = (address) => new URL(`${address}`, document.baseURI)

  const container = ServiceWorkerContainer.prototype
  intercept(container, 'register', (_native, _self, [script, options]) => {
    try {
      const at = here(script)
      at.hash = ''
      const scope = options?.scope === undefined ? new URL('./', at) : here(options.scope)
      scope.hash = ''
      if (at.origin !== location.origin || scope.origin !== location.origin) {
        const message = 'Failed to register a ServiceWorker: the origin of the script does not match'
        return Promise.reject(new DOMException(message, 'SecurityError'))
      }
      const registration =
        registrations.get(scope.href) ??
        registrationOf(at.href, scope.href, options?.updateViaCache ?? 'imports')
      registrations.set(scope.href, registration)
      if (page.startsWith(scope.href)) becomeReady(registration)
      return Promise.resolve(registration)
    } catch (error) {
      return Promise.reject(error)
    }
  })
  intercept(container, 'ready', () => ready)
  intercept(container, 'controller', () => null)
  intercept(container, 'getRegistrations', () => Promise.resolve([...registrations.values()]))
  intercept(container, 'getRegistration', (_native, _self, [address = page]) => {
    const asked = here(address).href
    const scopes = [...registrations.keys()].filter((scope) => asked.startsWith(scope))
    const [longest] = scopes.sort((a, b) => b.length - a.length)
    return Promise.resolve(longest === undefined ? undefined : registrations.get(longest))
  })
}
