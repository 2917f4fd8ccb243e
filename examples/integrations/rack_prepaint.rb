# A middleware of Rack that gives crawlers of Rails finished pages; when that cannot be had, the app answers.
# In config/application.rb: config.middleware.insert_before 0, Prepaint. See docs/integrations/rails.md.
# Environment: PREPAINT_API=127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com
require 'net/http'

class Prepaint
  WAIT_SECONDS = 14
  CRAWLER = %r{(?<!cu)bots?(?:\b|_)|botify|crawl|spider|slurp|preview|fetcher|archiv|externalhit|externalagent|webindexer|facebookcatalog|imgproxy|scrap\b|line-poker|embedly|iframely|^whatsapp/|vkshare|pinterest/0|bluesky|^mastodon/|^tumblr/|flipboardproxy|google-(?!pagespeed)|-google|googleother|chatgpt|claude-|anthropic|perplexity|cohere-|mistralai|xing-contenttab|yahoo link|yahoomailproxy|amazon-quick|lightpanda/|owler@|^owler/|miniature\.io/|gemini-deep|cotoyogi|yandex(?:images|direct|metrika)|naver\.me|qwantify|daumoa|screaming frog|barkrowler|ahrefssiteaudit|seokicks|sistrix|sitebulb|lumar|megaindex|heritrix|^feedly/|w3c_validator}i
  ASSET = /\.(?:js|mjs|css|map|json|xml|txt|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|otf|mp[34]|webm|pdf|zip|gz|wasm|webmanifest)\z/i
  # They are about the connection to Prepaint.
  NOT_PASSED = %w[connection keep-alive transfer-encoding content-length].freeze

  def initialize(app)
    @app = app
    @host, @port = ENV.fetch('PREPAINT_API').split(':')
    @key = ENV.fetch('PREPAINT_KEY')
    @site = ENV.fetch('SITE')
  end

  def call(env)
    page = prepaint?(env) ? ask(env) : nil
    page || @app.call(env)
  end

  private

  # A request with X-Prerender is one of Prepaint's own renderer.
  def prepaint?(env)
    %w[GET HEAD].include?(env['REQUEST_METHOD']) && !env.key?('HTTP_X_PRERENDER') &&
      CRAWLER.match?(env['HTTP_USER_AGENT'].to_s) && !ASSET.match?(env['PATH_INFO'])
  end

  def ask(env)
    http = Net::HTTP.new(@host, @port, nil)
    http.open_timeout = 1
    http.read_timeout = WAIT_SECONDS
    http.max_retries = 0
    kind = env['REQUEST_METHOD'] == 'HEAD' ? Net::HTTP::Head : Net::HTTP::Get
    # The path as it was sent.
    answer = http.start { http.request(kind.new("/#{@site}#{env['REQUEST_URI']}", headers(env))) }
    # Without X-Prepaint it is a refusal.
    return nil if answer['X-Prepaint'].nil? || half?(answer)

    passed = answer.to_hash.reject { |name, _| NOT_PASSED.include?(name) }
    [answer.code.to_i, passed.transform_values { |values| values.join(', ') }, [answer.body.to_s]]
  rescue SystemCallError, SocketError, Timeout::Error, IOError, Net::ProtocolError, Net::HTTPBadResponse
    nil # Prepaint is away.
  end

  # Net::HTTP hands on what came before a connection broke off.
  def half?(answer)
    answer.body && answer.content_length && answer.body.bytesize < answer.content_length
  end

  def headers(env)
    { 'X-Prerender-Token' => @key, 'X-Prerender-Int-Type' => 'Rails', 'Accept-Encoding' => 'identity',
      'User-Agent' => env['HTTP_USER_AGENT'], 'Accept' => env['HTTP_ACCEPT'] || '*/*' }
  end
end
