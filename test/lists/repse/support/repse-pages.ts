/** Pages of the registry in the shape that sat.md 6 describes: the search form, an answer of the search, a registration. */

export const FORM = `<!DOCTYPE html><html lang="es"><head><title>REPSE</title></head><body>
<div id="act-consulta" class="card">Consulta</div>
<form id="consulta"><input type="text" id="rsoc" name="rsoc" class="form-control" placeholder="Raz&oacute;n social">
<input type="hidden" name="token" value="9f2c&amp;51"><input type='hidden' id='Ce1' value='1'><button id="bnt_busqueda">Buscar</button></form>
</body></html>`

export const CAPTCHA = `<!DOCTYPE html><html><head><title>Verificaci&oacute;n</title></head><body><h1>Complete el captcha para continuar</h1>
<div class="g-recaptcha" data-sitekey="x"></div></body></html>`

export const NOTHING = JSON.stringify({ data: '<h2>NO HAY DATOS</h2>', total_pag: 0 })

const row = (name: string, number: string) =>
  `<tr class="fila"><td data-label="Nombre">${name}</td><td>${number}</td><td><form method="post"><input type="hidden" name="iem" value="${number}"><button>Seleccionar</button></form></td></tr>`

export const searchPage = (rows: readonly (readonly [string, string])[], total_pag = 1): string =>
  JSON.stringify({ data: rows.map(([name, number]) => row(name, number)).join('\n'), total_pag })

interface Registration {
  folio: string
  name: string
  cursor: string
  notice: string
  until: string
  services: readonly string[]
}

export const registrationPage = ({ folio, name, cursor, notice, until, services }: Registration): string => `<!DOCTYPE html><html><body>
<h3 class="text-center">REGISTRO LOCALIZADO FOLIO: ${folio}</h3><h6>Fecha de consulta: 2026-11-18 10:22:31</h6>
<div class="row"><div class="col"><label><b>Nombre o Raz&oacute;n Social</b></label><p class="lead highlightname">${name}</p></div>
<div class="col"><label><b>Entidad / Municipio</b></label>
<p class="highlightname">${cursor}</p></div></div>
<div><b>Aviso de registro N. / Fecha de aviso de registro:</b><p class="highlightname">${notice}</p></div>
<div><b>Vigencia del Registro</b><p class='highlightname'> ${until} </p></div>
<p>Ofreciendo los siguientes servicios</p><ul class="list">${services.map((one) => `<li><i class="icon"></i> ${one}</li>`).join('')}</ul>
<ul class="footer"><li>Aviso de privacidad</li></ul></body></html>`
