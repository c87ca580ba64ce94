/** URLs that a webhook may and may not call, by the reason. */

/** This service’s own hosts in these tests. */
export const OWN = ['api.fiscal.mx', 'fiscal-data.acme.workers.dev']

/** URLs as they stand in a template, one between spaces. */
const urls = (text: TemplateStringsArray): string[] =>
  String.raw(text)
    .trim()
    .split(/ +|\n */)
/** The same, of hosts. */
const hosts = (text: TemplateStringsArray): string[] => urls(text).map((host) => `https://${host}/hook?token=t0p5ecret`)
const labels = (count: number, length = 1): string => `${'a'.repeat(length)}.`.repeat(count)

/** What is refused, by the one reason that it is refused for. */
export const REFUSED: Record<string, { reason: RegExp; refused: string[] }> = {
  length: {
    reason: /at most 2048 characters/,
    refused: [`https://example.com/${'x'.repeat(2_029)}`, `https://${'é'.repeat(3_000)}`, `http://127.0.0.1/?${' '.repeat(2_048)}`],
  },
  space: {
    // U+0000 is refused in any text of a request.
    reason: /white space or control|U\+0000/,
    refused: [
      ' https://example.com/',
      'https://example.com/ ',
      '\thttps://example.com/',
      'https://example.com/\n',
      '\u0000https://example.com/',
      '\u001fhttps://example.com/',
      'ht\ntps://example.com/',
      'https:\t//example.com/',
      'https:/\r/example.com/',
      'https://example.com\t.evil.com/',
      'https://exam\nple.com/',
      'https://example.com\r\n/',
      'https://127.0\t.0.1/',
      'https://local\nhost/',
      'https://exa mple.com/',
      'https://example.com /',
      'https://example.com:4\t43/',
      'https://example.com/a b',
      'https://example.com/a\tb',
      'https://example.com/?a=\r\nService-Event:x',
      'https://example.com/\u007f',
      'https://example.com/\u0085',
      'https://example.com\u00a0/',
      'https://example\u3000.com/',
      'https://example.com/\u2028',
      '\ufeffhttps://example.com/',
      'https://example.com/\u0000',
    ],
  },
  backslash: {
    reason: /backslash/,
    refused: urls`https:\\example.com\ https:/\example.com/ https://example.com\@evil.com/ https://evil.com\.example.com/
      https://example.com/\..\x https://example.com/?a=\ \\example.com\share https://127.0.0.1\@example.com/`,
  },
  scheme: {
    reason: /start with https:\/\//,
    refused: [
      '',
      ...urls`http://example.com/ http://example.com:443/ ftp://example.com/ file:///etc/passwd javascript:alert(1) data:text/plain,x
        wss://example.com/ gopher://example.com/ blob:https://example.com/1 view-source:https://example.com/ httpss://example.com/
        https https: https:// https:/ https:example.com https:/example.com/ https:///example.com/ https:////example.com/ https://?x=1
        https://#x //example.com/ /hook example.com example.com/hook example.com:443 hooks@example.com mailto:a@example.com
        xhttps://example.com/ ｈttps://example.com/ https:／／example.com/ https：//example.com/ "https://example.com/" <https://example.com/>`,
    ],
  },
  userinfo: {
    reason: /user name or password/,
    refused: urls`https://user:t0p5ecret@example.com/ https://user@example.com/ https://@example.com/ https://:@example.com/
      https://:t0p5ecret@example.com/ https://example.com@127.0.0.1/ https://example.com／@evil.com/ https://example.com:443@evil.com/ https://a@b@example.com/
      https://user%40x:y@example.com/ https://example.com%40evil.com@127.0.0.1/ https://[::1]@example.com/ https://ü@example.com/
      https://user:t0p5ecret@localhost/ https://x@example.com:22/#f https://127.0.0.1%2f@example.com/`,
  },
  'spelled address': {
    reason: /stand for an IP address/,
    refused: hosts`127.0.0.1.nip.io 10-0-0-1.nip.io app.192.168.1.20.nip.io 7f000001.nip.io 127.0.0.1.sslip.io www.10-1-2-3.sslip.io
      --1.sslip.example.nip.io 10.0.0.1.xip.io 169-254-169-254.nip.io localtest.me a.localtest.me lvh.me any.lvh.me NIP.IO 1.1.1.1.Nip.Io vcap.me
      127-0-0-1.traefik.me 7f000001.c0a80001.rbndr.us a.localho.st nip.io:8443 a.local-ip.co 10-0-0-1.my.local-ip.co local.gd x.local.gd a.alt.io
      a.localhost.direct www.lcl.host 10-0-0-1.example.com 192.168.1.20.example.com ip-172-31-0-9.example.com a.127-0-0-1.example.com
      169.254.169.254.example.com 100-64-0-1.example.com 0-0-0-0.example.com 127.0.0.1.example.com`,
  },
  authority: {
    reason: /hosts of the tax authority/,
    refused: hosts`sat.gob.mx www.sat.gob.mx cfdidescargamasivasolicitud.clouda.sat.gob.mx WWW.SAT.GOB.MX sat.gob.mx:8443`,
  },
  unicode: {
    reason: /in ASCII: .*punycode/,
    refused: [
      'https://local\u00adhost/',
      'https://exa\u200dmple.com/',
      'https://exa\u200bmple.com/',
      ...hosts`münchen.example ejemplo.méxico.mx пример.example 例え.example ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1
      example。com example．com ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ example.com⁄evil ¹²⁷.0.0.1 𝟏𝟐𝟕.0.0.1
      ⑯⑨。②⑤④。⑯⑨｡②⑤④ ０ｘ7f.1 example.com：443 example.com:４４３ ex％41mple.com eⅩample.com ſite.example
      İ.example exàmple.com [：：1] ⅼocalhost xn--é.com`,
    ],
  },
  unencoded: {
    reason: /Must be ASCII: percent-encode/,
    refused: urls`https://example.com/año https://example.com/?q=日本 https://example.com/💶 https://example.com/#ñ https://example.com?ü`,
  },
  fragment: {
    reason: /no fragment/,
    refused: urls`https://example.com/#t0p5ecret https://example.com# https://example.com#@evil.com/ https://example.com/hook?a=1#b
      https://example.com:443#x https://example.com/## https://user:t0p#5ecret@example.com/ https://127.0.0.1#.example.com`,
  },
  percent: {
    reason: /without percent-encoding/,
    refused: hosts`%31%32%37.0.0.1 127%2e0%2e0%2e1 %6c%6f%63%61%6c%68%6f%73%74 example%2ecom exampl%65.com example.com%00.evil.com
      example.com%09 example.com%23 example.com%2f.evil.com %5b::1%5d [fe80::1%25eth0] [fe80::1%eth0] example.com%3a443 example.com:4%343
      %ef%bc%91.0.0.1 127%E3%80%820%E3%80%820%E3%80%821 %2 % ex%zzample.com %c3%a9.com`,
  },
  address: {
    reason: /IP addresses are refused/,
    refused: hosts`127.0.0.1 127.0.0.1:443 127.0.0.1. 127.1 127.0.1 127.000.000.001 2130706433 0x7f000001 0X7F000001 0x7f.0x0.0x0.0x1 0x7f.1
      017700000001 0177.0.0.1 0177.1 00000177.0.0.01 0x0000007f.0.0.1 0 0.0.0.0 0x 0x0 00 1 1.1 255.255.255.255 4294967295 4294967296
      10.0.0.1 10.1 012.1 167772161 172.16.0.1 172.31.255.255 0xac100001 192.168.0.1 192.168.1 3232235521 0xc0.0xa8.1 169.254.169.254
      2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 0xa9.254.0251.254 169.16689662 100.64.0.1 100.100.100.200 168.63.129.16 192.0.2.1
      198.18.0.1 224.0.0.1 240.0.0.1 8.8.8.8 1.1.1.1 93.184.216.34 93.184.216.34:8443 256.256.256.256 1.2.3.4.5 09.1 1.2.3.08 example.1
      example.com.127 foo.0x7f foo.0x example.09 127.0.0.1:22
      [::1] [::] [::1]:443 [::1]:8443 [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:1]
      [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::127.0.0.1]
      [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001:0:7f00:1::] [fe80::5efe:127.0.0.1]
      [fe80::1] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] [2606:4700:4700::1111] [2001:db8::1] [5f00::1] [100::1] [::1 ::1] []
      [v1.fe80::a] [127.0.0.1] [localhost] [example.com] ::1 fe80::1 ::ffff:127.0.0.1 2001:db8::1 example.com:443:443 example.com::443`,
  },
  port: {
    reason: /port 443 or 8443\./,
    refused: hosts`example.com:80 example.com:0 example.com:22 example.com:25 example.com:53 example.com:1 example.com:444 example.com:4430
      example.com:8080 example.com:8444 example.com:65535 example.com:65536 example.com:65979 example.com:99999999999 example.com:
      example.com:0443 example.com:00443 example.com:08443 example.com:+443 example.com:-443 example.com:443.0 example.com:4.43e2
      example.com:0x1bb example.com:https example.com:443;`,
  },
  inside: {
    reason: /Must be a public host/,
    refused: hosts`localhost localhost:8787 LOCALHOST LocalHost:8443 localhost. localhost.:443 foo.localhost a.b.c.LOCALHOST foo.localhost. printer.local
      kubernetes.default.svc.cluster.local metadata.google.internal Metadata.Google.Internal. instance-data.ec2.internal host.docker.internal
      api.internal internal wiki.intranet intranet db.private vault.lan router.home nas.home. dc1.corp corp hooks.test test api.invalid
      expyuzz4wqqyqhjn.onion name.alt home.arpa router.home.arpa 1.0.0.127.in-addr.arpa 1.ip6.arpa. arpa _x.local -.lan .local example.com.local`,
  },
  own: {
    reason: /does not call itself/,
    refused: hosts`api.fiscal.mx API.Fiscal.MX api.fiscal.mx. api.fiscal.mx:443 api.fiscal.mx:8443 v1.api.fiscal.mx a.b.c.api.fiscal.mx
      x.API.fiscal.mx. fiscal-data.acme.workers.dev preview.fiscal-data.acme.workers.dev`,
  },
  single: {
    reason: /with a dot, such as/,
    refused: hosts`example com intranet1 metadata kubernetes server:8443 postgres:5432 a a:b 7f000001 1e9 0b1 0x7g example. :443 . redis xn--mxico-bsa https:443`,
  },
  name: {
    reason: /valid host name/,
    refused: [
      ...hosts`example.com. example.com.. example.com.:443 .example.com example..com ..example.com -example.com example-.com
        hooks.-a.com hooks.a-.com example.-com example.com- my_hooks.example.com _dmarc.example.com *.example.com exa!mple.com exa$mple.com
        example.com,evil.com example.com;x example.com&x example.com|x example.com^x exa'mple.com (example.com) {tenant}.example.com
        <host>.example.com exa"mple.com exa~mple.com exa+mple.com exa=mple.com example.1a example.0day example.4294967296x 127.0.0.1x
        127.0.0.1-.com xn--.com xn--localhost-.com`,
      `https://${'a'.repeat(64)}.com/`,
      `https://example.${'a'.repeat(64)}/`,
      `https://${labels(126)}com/`,
      `https://${labels(125)}info/`,
      `https://${labels(4, 63)}com/`,
    ],
  },
}

/** What may be called. */
export const GOOD = [
  ...urls`https://example.com https://example.com/ https://hooks.example.com/fiscal https://example.com:443/ https://example.com:8443/hook
    https://example.com?a=1 https://example.com/?a=b@c https://example.com/@me/hook:8080 https://example.com/a%20b?x=%F0%9F%92%B6
    https://example.com/127.0.0.1/[::1] https://example.com/?next=https://localhost/ https://example.com// HTTPS://EXAMPLE.com/A
    https://my-shop.com.mx/webhooks https://receiver.example/hook https://a.b.c.d.e.f.example.com/ https://9gag.com/ https://127.com/
    https://ec2-203-0-113-25.compute-1.amazonaws.com/ https://0x7f.com/ https://0a000001.example.com/ https://v10.0.0.12.example.com/ https://210.0.0.1.example.com/ https://1.2.3.com/ https://xn--mnchen-3ya.de/ https://xn--e1afmkfd.xn--p1ai/
    https://foo--bar.com/ https://localhost.com/ https://local.example.com/ https://mylocalhost.mx/ https://x.testing/ https://corp.mx/
    https://fiscal.mx/ https://notapi.fiscal.mx/ https://api.fiscal.mx.example.com/ https://acme.workers.dev/ https://a.bc/
    https://prod-12.westus.logic.azure.com:443/workflows/0f/triggers/manual/paths/invoke?api-version=2016-10-01&sp=%2Ftriggers&sig=x_y-z~
    https://hooks.slack.com/services/T0/B0/x https://example.com/{a}|"b"<c>'d';e https://example.com/..%2f..%5c%00?a[]=1`,
  `https://example.com/${'x'.repeat(2_028)}`,
  `https://${'a'.repeat(63)}.com/`,
  `https://${labels(125)}com/`,
]
