// Another process answers these calls (locks, passkeys) in real time, without holding the virtual clock.
{
  const { begin, interceptPromises } = realTimeWork()
  // Excludes calls that wait for a person, such as sign-in and device choice.
  const AVAILABLE = ['availability', 'create']
  const OF_INSTANCES = {
    CredentialsContainer: ['preventSilentAccess'],
    Document: ['browsingTopics', 'hasPrivateToken', 'hasStorageAccess', 'hasUnpartitionedCookieAccess'],
    FileSystemDirectoryHandle: ['resolve'],
    GPU: ['requestAdapter'],
    HID: ['getDevices'],
    Keyboard: ['getLayoutMap'],
    LockManager: ['query'],
    MediaCapabilities: ['decodingInfo', 'encodingInfo'],
    Navigator: ['getBattery', 'getInstalledRelatedApps', 'requestMediaKeySystemAccess'],
    OfflineAudioContext: ['startRendering'],
    BaseAudioContext: ['decodeAudioData'],
    PaymentRequest: ['canMakePayment', 'hasEnrolledInstrument'],
    Serial: ['getPorts'],
    USB: ['getDevices'],
    XRSystem: ['isSessionSupported'],
  }
  const OF_INTERFACES = {
    AudioDecoder: ['isConfigSupported'],
    AudioEncoder: ['isConfigSupported'],
    ImageDecoder: ['isTypeSupported'],
    LanguageDetector: AVAILABLE,
    LanguageModel: AVAILABLE,
    PublicKeyCredential: [
      'getClientCapabilities',
      'isConditionalMediationAvailable',
      'isUserVerifyingPlatformAuthenticatorAvailable',
    ],
    Summarizer: AVAILABLE,
    VideoDecoder: ['isConfigSupported'],
    VideoEncoder: ['isConfigSupported'],
  }
  for (const [name, methods] of Object.entries(OF_INSTANCES))
    interceptPromises(Reflect.get(window, name)?.prototype, methods)
  for (const [name, methods] of Object.entries(OF_INTERFACES))
    interceptPromises(Reflect.get(window, name), methods)
  const directory = window.FileSystemDirectoryHandle?.prototype
  let areEntriesWatched = false
  for (const name of ['keys', 'values', 'entries', Symbol.asyncIterator]) {
    intercept(directory, name, (native, self, given) => {
      const iterator = apply(native, self, given)
      if (!areEntriesWatched) interceptPromises(Object.getPrototypeOf(iterator), ['next'])
      areEntriesWatched = true
      return iterator
    })
  }

  // Wait until the page has the lock, not until its release: some are held for ever.
  intercept(window.LockManager?.prototype, 'request', (native, self, given) => {
    const answered = begin()
    const use = given.at(-1)
    const rest = given.slice(0, -1)
    /** @param {unknown} lock */
    const granted = (lock) => {
      answered()
      return use(lock)
    }
    const ends = apply(native, self, typeof use === 'function' ? [...rest, granted] : given)
    then.call(ends, answered, answered)
    return ends
  })

  intercept(
    window.Geolocation?.prototype,
    'getCurrentPosition',
    (native, self, [success, failure, ...rest]) => {
      const answered = begin()
      /** @param {unknown} use */
      const ending = (use) =>
        typeof use === 'function'
          ? (/** @type {unknown[]} */ ...told) => {
              answered()
              return use(...told)
            }
          : use === undefined
            ? answered
            : use
      return apply(native, self, [ending(success), ending(failure), ...rest])
    },
  )
}
