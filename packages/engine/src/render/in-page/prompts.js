// The page finds a person who has decided nothing yet and dismisses every prompt. The browser itself denies everything, so
// that no prompt waits, and a page would show how to take back a refusal.
{
  const { DOMException, MediaDeviceInfo, InputDeviceInfo, WakeLockSentinel } = window

  const GRANTED = new Set([
    'accelerometer',
    'background-fetch',
    'background-sync',
    'clipboard-write',
    'gyroscope',
    'magnetometer',
    'payment-handler',
    'screen-wake-lock',
  ])
  /** What was asked for: Chromium names sensors and others differently. @type {WeakMap<PermissionStatus, string>} */
  const askedFor = new WeakMap()
  intercept(window.Permissions?.prototype, 'query', (native, self, given) => {
    const name = `${given[0]?.name}`
    return then.call(apply(native, self, given), (/** @type {PermissionStatus} */ status) => {
      askedFor.set(status, name)
      return status
    })
  })
  intercept(window.PermissionStatus?.prototype, 'state', (native, status) => {
    const state = apply(native, status, [])
    if (state !== 'denied') return state
    return GRANTED.has(askedFor.get(status) ?? '') ? 'granted' : 'prompt'
  })

  /** @param {string} name @param {string} message */
  const refusedFor = (name, message) => Promise.reject(new DOMException(message, name))

  if (window.Notification) {
    intercept(window.Notification, 'permission', () => 'default')
    intercept(window.Notification, 'requestPermission', (_native, _self, [callback]) => {
      if (typeof callback === 'function') window.setTimeout(callback, 0, 'default')
      return Promise.resolve('default')
    })
  }

  const devices = window.MediaDevices?.prototype
  intercept(devices, 'getUserMedia', (native, self, given) =>
    given[0]?.audio || given[0]?.video
      ? refusedFor('NotAllowedError', 'Permission dismissed')
      : apply(native, self, given),
  )
  intercept(devices, 'getDisplayMedia', () =>
    refusedFor('InvalidStateError', 'getDisplayMedia() requires transient activation (user gesture).'),
  )
  /** Without permission a browser tells the kinds of devices and nothing else. @param {string} kind */
  const deviceOf = (kind) => {
    const unnamed = { deviceId: '', kind, label: '', groupId: '' }
    const { prototype } = kind === 'audiooutput' || !InputDeviceInfo ? MediaDeviceInfo : InputDeviceInfo
    return objectOf(prototype, { ...unnamed, toJSON: () => unnamed }, /** @type {never} */ ({}))
  }
  intercept(devices, 'enumerateDevices', () =>
    Promise.resolve(['audioinput', 'videoinput', 'audiooutput'].map(deviceOf)),
  )
  intercept(window, 'queryLocalFonts', () =>
    refusedFor('SecurityError', 'User activation is required to request permission.'),
  )

  intercept(Reflect.get(window, 'WakeLock')?.prototype, 'request', (_native, _self, [type = 'screen']) => {
    if (type !== 'screen') return Promise.reject(new TypeError(`'${type}' is not a valid type of wake lock`))
    const lock = objectOf(WakeLockSentinel.prototype, { type, released: false, onrelease: null })
    const release = () => {
      Object.defineProperty(lock, 'released', { value: true })
      return Promise.resolve()
    }
    Object.defineProperty(lock, 'release', { value: release, configurable: true })
    return Promise.resolve(lock)
  })

  // The headless shell has neither wallets nor a store of passwords.
  /** @param {object | undefined} owner @param {string} name @param {string} error @param {unknown} answer */
  const answerFor = (owner, name, error, answer) =>
    intercept(owner, name, (native, self, given) =>
      then.call(apply(native, self, given), undefined, (/** @type {DOMException} */ fault) => {
        if (fault.name !== error) throw fault
        return answer
      }),
    )
  answerFor(window.PaymentRequest?.prototype, 'canMakePayment', 'UnknownError', false)
  answerFor(window.PaymentRequest?.prototype, 'hasEnrolledInstrument', 'UnknownError', false)
  answerFor(window.CredentialsContainer?.prototype, 'get', 'NotSupportedError', null)
}
